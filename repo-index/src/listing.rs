//! Which files the roots held, kept on the disk beside the snapshot.
//!
//! The next process asks the system only whether they are still as they were, which is several times as fast as
//! listing a tree and minding what its `.gitignore` files say.

use crate::codec::{Decoder, Encoder};
use crate::snapshot::checksum;
use crate::source::{Found, FoundFile, Origin, Root, Skipped, Stamp};

/// Changes with what is listed and how it is written.
const VERSION: u32 = 1;

/// Returns listings as bytes.
pub(crate) fn encode(listed: &[(Root, Found)]) -> Vec<u8> {
    let mut out = Encoder::default();
    out.u32(VERSION);
    let whole: Vec<&(Root, Found)> = listed.iter().filter(|(_, found)| !found.is_partial).collect();
    out.u32(as_u32(whole.len()));
    for (root, found) in whole {
        out.text(&root.path.to_string_lossy());
        out.text(&root.label);
        out.u32(u32::from(root.origin == Origin::Package));
        for files in [&found.files, &found.watched] {
            out.u32(as_u32(files.len()));
            for file in files {
                out.text(&file.path.to_string_lossy());
                out.u64(file.stamp.modified as u64);
                out.u64(file.stamp.size);
            }
        }
        out.u32(as_u32(found.skipped.len()));
        for skipped in &found.skipped {
            out.text(&skipped.path.to_string_lossy());
            out.text(&skipped.why);
        }
    }
    let sum = checksum(&out.bytes);
    out.u64(sum);
    out.bytes
}

/// Returns the listings that bytes say; nothing if they are damaged or of another version.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<(Root, Found)>> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
    if u64::from_le_bytes(sum.try_into().ok()?) != checksum(bytes) {
        return None;
    }
    let mut from = Decoder::new(bytes);
    if from.u32()? != VERSION {
        return None;
    }
    (0..from.u32()?).map(|_| listing(&mut from)).collect()
}

fn listing(from: &mut Decoder<'_>) -> Option<(Root, Found)> {
    let root = Root {
        path: from.text()?.into(),
        label: from.text()?.into(),
        origin: if from.u32()? == 1 {
            Origin::Package
        } else {
            Origin::Project
        },
    };
    let mut files = || {
        let file = |from: &mut Decoder<'_>| {
            Some(FoundFile {
                path: from.text()?.into(),
                stamp: Stamp {
                    modified: u128::from(from.u64()?),
                    size: from.u64()?,
                },
            })
        };
        (0..from.u32()?).map(|_| file(from)).collect::<Option<Vec<_>>>()
    };
    let (files, watched) = (files()?, files()?);
    let skipped = |from: &mut Decoder<'_>| {
        Some(Skipped {
            path: from.text()?.into(),
            why: from.text()?.into(),
        })
    };
    let skipped = (0..from.u32()?)
        .map(|_| skipped(from))
        .collect::<Option<Vec<_>>>()?;
    let found = Found {
        files,
        skipped,
        watched,
        is_partial: false,
    };
    Some((root, found))
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_comes_back_or_not_at_all() {
        let file = |path: &str, modified| FoundFile {
            path: path.into(),
            stamp: Stamp { modified, size: 3 },
        };
        let found = Found {
            files: vec![file("/p/a.py", 1), file("/p/é.py", 1 << 60)],
            watched: vec![file("/p", 7)],
            skipped: vec![Skipped {
                path: "/p/big.py".into(),
                why: "big".into(),
            }],
            is_partial: false,
        };
        let listed = vec![
            (Root::project("/p", "p"), found.clone()),
            (Root::package("/s/q", "q"), found),
        ];
        let bytes = encode(&listed);
        assert_eq!(decode(&bytes), Some(listed));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(decode(&damaged), None, "at {at}");
            assert_eq!(decode(&bytes[..at]), None, "to {at}");
        }
    }
}
