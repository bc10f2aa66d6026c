//! Reads a code object's exception table (`co_exceptiontable`, CPython's `Objects/exception_handling_notes.txt`).

/// One range of instructions and where an exception in it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Byte offset of the first instruction.
    pub(crate) start: u32,
    /// Byte offset after the last instruction.
    pub(crate) end: u32,
    /// Byte offset of the handler.
    pub(crate) target: u32,
    /// How many values stay on the stack when the handler starts.
    pub(crate) depth: u32,
    /// Whether the handler finds the offset of the instruction below the exception.
    pub(crate) has_offset: bool,
}

/// Reads the whole table; a malformed tail is left out.
pub(crate) fn read(table: &[u8]) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut bytes = table.iter().copied();
    while let Some(region) = read_region(&mut bytes) {
        regions.push(region);
    }
    regions
}

/// Returns the region that covers the instruction.
pub(crate) fn covering(regions: &[Region], offset: u32) -> Option<&Region> {
    // Regions are sorted and do not overlap.
    let after = regions.partition_point(|region| region.start <= offset);
    regions[..after].last().filter(|region| offset < region.end)
}

fn read_region(bytes: &mut impl Iterator<Item = u8>) -> Option<Region> {
    const BYTES_A_UNIT: u32 = 2;
    let start = varint(bytes)? * BYTES_A_UNIT;
    let length = varint(bytes)? * BYTES_A_UNIT;
    let target = varint(bytes)? * BYTES_A_UNIT;
    let depth_and_lasti = varint(bytes)?;
    let (depth, has_offset) = (depth_and_lasti >> 1, depth_and_lasti & 1 != 0);
    Some(Region {
        start,
        end: start + length,
        target,
        depth,
        has_offset,
    })
}

/// Big-endian groups of six bits; bit 6 says that more follow, bit 7 marks the start of an entry.
fn varint(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    let mut byte = bytes.next()?;
    let mut value = u32::from(byte & 63);
    while byte & 64 != 0 {
        byte = bytes.next()?;
        value = value.checked_shl(6)? | u32::from(byte & 63);
    }
    Some(value)
}
