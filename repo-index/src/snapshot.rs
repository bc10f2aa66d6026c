//! The index of a whole tree as one file that never changes: facts by file, files by name.
//!
//! Layout: a header of 64 bytes, the segments of all files one after another, then the tables. A reader takes in the
//! tables and fetches a segment when it needs it. Everything carries a checksum; what does not hold, or is of another
//! version, is as good as not there. A new snapshot is written beside the old one and takes its name when it is
//! whole, so that a reader keeps what it has opened, whoever writes, and a crash while writing leaves the old one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::codec::{Decoder, Encoder, decode};
use crate::disk::Blob;
use crate::facts::FileFacts;
use crate::identifiers::hash_name;
use crate::source::Stamp;

/// Changes with whatever the facts or their bytes mean.
const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"HEALIDX\n";

pub(crate) const HEADER_LEN: usize = 64;

/// A snapshot that is open.
pub(crate) struct Snapshot {
    blob: Blob,
    files: Vec<Entry>,
    /// Sorted, four bytes each.
    hashes: Vec<u8>,
    /// Where the files of each name start, four bytes each, and where the last ones end.
    starts: Vec<u8>,
    postings: Vec<u8>,
    defined: Vec<Box<str>>,
    pub(crate) len: u64,
}

/// A file in a snapshot.
pub(crate) struct Entry {
    path: PathBuf,
    pub(crate) stamp: Stamp,
    /// Of the text.
    pub(crate) hash: u64,
    offset: u64,
    len: u32,
    checksum: u64,
}

/// What a file has to do with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) file: u32,
    pub(crate) defines: bool,
}

impl Snapshot {
    /// Reads the tables of a file; nothing if it is none of this version, or not whole.
    pub(crate) fn read(blob: Blob) -> Option<Self> {
        let header = blob.read(0, HEADER_LEN)?;
        let number = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let is_ours = header[..8] == MAGIC && number(8)? == u64::from(VERSION);
        if !is_ours || number(56)? != checksum(&header[..56]) {
            return None;
        }
        let (offset, len) = (number(16)?, usize::try_from(number(24)?).ok()?);
        let tables = blob.read(offset, len)?;
        if number(32)? != checksum(&tables) {
            return None;
        }
        let mut from = Decoder::new(&tables);
        let n_files = from.u32()?;
        let mut files = Vec::with_capacity(n_files as usize);
        let mut at = HEADER_LEN as u64;
        for _ in 0..n_files {
            let path = PathBuf::from(from.text()?);
            let modified = u128::from(from.u64()?) << 64 | u128::from(from.u64()?);
            let (size, hash, len, checksum) = (from.u64()?, from.u64()?, from.u32()?, from.u64()?);
            let offset = from.u64()?;
            at = at.max(offset);
            files.push(Entry {
                path,
                stamp: Stamp { modified, size },
                hash,
                offset,
                len,
                checksum,
            });
        }
        let defined = (0..from.u32()?)
            .map(|_| from.text().map(Into::into))
            .collect::<Option<_>>()?;
        let n_names = from.u32()? as usize;
        let n_postings = from.u32()? as usize;
        Some(Self {
            hashes: from.take(n_names * 4)?.to_vec(),
            starts: from.take((n_names + 1) * 4)?.to_vec(),
            postings: from.take(n_postings)?.to_vec(),
            files,
            defined,
            len: offset + len as u64,
            blob,
        })
    }

    /// Returns the file of a path.
    pub(crate) fn find(&self, path: &Path) -> Option<u32> {
        let found = self
            .files
            .binary_search_by(|entry| entry.path.as_path().cmp(path));
        found.ok().and_then(|idx| u32::try_from(idx).ok())
    }

    pub(crate) fn entry(&self, idx: u32) -> &Entry {
        &self.files[idx as usize]
    }

    pub(crate) fn n_files(&self) -> usize {
        self.files.len()
    }

    /// Returns the facts of a file; nothing if they are damaged.
    pub(crate) fn facts(&self, idx: u32) -> Option<FileFacts> {
        decode(&unpack(&self.segment(idx)?)?)
    }

    /// Returns the packed bytes of a file's facts; nothing if they are damaged.
    pub(crate) fn segment(&self, idx: u32) -> Option<Vec<u8>> {
        let entry = self.entry(idx);
        let bytes = self.blob.read(entry.offset, entry.len as usize)?;
        (checksum(&bytes) == entry.checksum).then_some(bytes)
    }

    /// Returns the files that mention a name, in upper or lower case.
    pub(crate) fn naming(&self, hash: u32) -> Vec<Named> {
        let number = |bytes: &[u8], idx: usize| {
            let four = bytes[idx * 4..idx * 4 + 4].try_into();
            u32::from_le_bytes(four.unwrap_or_default())
        };
        let (mut low, mut high) = (0, self.hashes.len() / 4);
        while low < high {
            let middle = usize::midpoint(low, high);
            if number(&self.hashes, middle) < hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low >= self.hashes.len() / 4 || number(&self.hashes, low) != hash {
            return Vec::new();
        }
        let range = number(&self.starts, low) as usize..number(&self.starts, low + 1) as usize;
        let mut from = Decoder::new(self.postings.get(range).unwrap_or_default());
        let mut found = Vec::new();
        let mut file = 0;
        while let Some(coded) = from.u32() {
            file += coded >> 1;
            found.push(Named {
                file,
                defines: coded & 1 == 1,
            });
        }
        found
    }

    /// Returns the names of all definitions, for a search that forgives.
    pub(crate) fn defined(&self) -> &[Box<str>] {
        &self.defined
    }

    /// Returns the names that the segment of a file was filed under.
    pub(crate) fn names_of(facts: &FileFacts) -> Names {
        Names::of(facts)
    }
}

/// What a file is filed under.
#[derive(Default)]
pub(crate) struct Names {
    /// Hashes of the names that it mentions, and whether it defines them.
    hashes: Vec<(u32, bool)>,
    defined: Vec<Box<str>>,
}

impl Names {
    fn of(facts: &FileFacts) -> Self {
        let defined: BTreeSet<&str> = facts.definitions.iter().map(|it| facts.text(it.name)).collect();
        let mut hashes: Vec<(u32, bool)> = (0..facts.names.len())
            .filter_map(|idx| u32::try_from(idx).ok())
            .map(|idx| facts.text(crate::facts::NameId(idx)))
            .filter(|text| !text.contains([' ', '.']))
            .map(|text| (hash_name(text), defined.contains(text)))
            .collect();
        // Where two names have one hash, it counts as defined if one is.
        hashes.sort_unstable_by_key(|(hash, defines)| (*hash, !defines));
        hashes.dedup_by_key(|(hash, _)| *hash);
        Self {
            hashes,
            defined: defined.into_iter().map(Into::into).collect(),
        }
    }
}

/// A file that a snapshot is to hold.
pub(crate) struct Filed {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    pub(crate) hash: u64,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) checksum: u64,
    pub(crate) names: Names,
}

/// The longest facts that are believed to be some.
const MAX_UNPACKED: usize = 256 * 1024 * 1024;

/// Packs the bytes of facts: names and small numbers come again and again.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = (bytes.len() as u64).to_le_bytes().to_vec();
    // It fails only where memory does; what is then left says nothing, and is found out by its length.
    packed.extend(zstd::bulk::compress(bytes, 1).unwrap_or_default());
    packed
}

fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let (len, packed) = bytes.split_at_checked(8)?;
    let len = usize::try_from(u64::from_le_bytes(len.try_into().ok()?)).ok()?;
    (len <= MAX_UNPACKED).then(|| zstd::bulk::decompress(packed, len).ok())?
}

/// Returns the tables of files, sorted by path.
pub(crate) fn tables(files: &[Filed]) -> Vec<u8> {
    let mut out = Encoder::default();
    out.u32(as_u32(files.len()));
    for file in files {
        out.text(&file.path.to_string_lossy());
        out.u64((file.stamp.modified >> 64) as u64);
        out.u64(file.stamp.modified as u64);
        out.u64(file.stamp.size);
        out.u64(file.hash);
        out.u32(file.len);
        out.u64(file.checksum);
        out.u64(file.offset);
    }
    let defined: BTreeSet<&str> = files
        .iter()
        .flat_map(|it| it.names.defined.iter().map(|name| &**name))
        .collect();
    out.u32(as_u32(defined.len()));
    defined.iter().for_each(|name| out.text(name));
    let mut all: Vec<(u32, u32, bool)> = (0..)
        .zip(files)
        .flat_map(|(idx, file)| {
            file.names
                .hashes
                .iter()
                .map(move |(hash, defines)| (*hash, idx, *defines))
        })
        .collect();
    all.sort_unstable();
    let (mut hashes, mut starts, mut postings) = (Vec::new(), Vec::new(), Encoder::default());
    for of_name in all.chunk_by(|one, other| one.0 == other.0) {
        hashes.extend(of_name[0].0.to_le_bytes());
        starts.extend(as_u32(postings.bytes.len()).to_le_bytes());
        let mut before = 0;
        for (_, file, defines) in of_name {
            postings.u32((file - before) << 1 | u32::from(*defines));
            before = *file;
        }
    }
    starts.extend(as_u32(postings.bytes.len()).to_le_bytes());
    out.u32(as_u32(hashes.len() / 4));
    out.u32(as_u32(postings.bytes.len()));
    for part in [hashes, starts, postings.bytes] {
        out.bytes.extend(part);
    }
    out.bytes
}

/// Returns the header of a snapshot whose tables stand at an offset.
pub(crate) fn header(offset: u64, tables: &[u8]) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    let numbers = [u64::from(VERSION), offset, tables.len() as u64, checksum(tables)];
    for (idx, number) in numbers.into_iter().enumerate() {
        header[8 + idx * 8..16 + idx * 8].copy_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&header[..56]);
    header[56..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Returns a sum that tells damage: eight bytes at a time, each stirred into all that came before.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64 ^ FACTOR;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        sum = (sum ^ word).wrapping_mul(FACTOR);
        sum ^= sum >> 29;
    }
    for byte in chunks.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(FACTOR);
        sum ^= sum >> 29;
    }
    sum
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_changes_the_sum() {
        let bytes: Vec<u8> = (0..100).collect();
        let sum = checksum(&bytes);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x40;
            assert_ne!(checksum(&other), sum, "at {at}");
        }
    }
}
