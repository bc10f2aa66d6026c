//! Rewrites a code object's location table (`co_linetable`, PEP 626 and 657, CPython's `Objects/locations.md`).

/// Returns the table with the location taken off every instruction that stands at `line`.
///
/// `first_line` is `co_firstlineno`, which the first line delta is relative to. Instructions without a location
/// raise no line event: tracers, coverage and debuggers do not see them. `None` where the table is malformed.
pub(crate) fn without_line(table: &[u8], first_line: i64, line: i64) -> Option<Vec<u8>> {
    let mut output = Vec::with_capacity(table.len());
    let (mut actual, mut emitted) = (first_line, first_line);
    let mut rest = table;
    while let Some((&first, after)) = rest.split_first() {
        let mut reader = Reader(after);
        let entry = Entry::read((first >> 3) & 15, &mut reader)?;
        let length = first & 7;
        if let Entry::At { line_delta, .. } = entry {
            actual += line_delta;
        }
        match entry {
            Entry::At { .. } if actual == line => output.push(0x80 | (15 << 3) | length),
            Entry::At { line_delta, .. } if emitted + line_delta == actual => {
                output.extend_from_slice(&rest[..rest.len() - reader.0.len()]);
                emitted = actual;
            }
            Entry::At { n_lines, columns, .. } => {
                write_entry(&mut output, length, actual - emitted, n_lines, columns);
                emitted = actual;
            }
            Entry::Nowhere => output.push(first),
        }
        rest = reader.0;
    }
    Some(output)
}

/// Returns a table for `n_units` code units in which only the unit at `target` has a location: the first line.
pub(crate) fn only_at(target: usize, n_units: usize) -> Vec<u8> {
    let mut output = Vec::new();
    write_nowhere(&mut output, target);
    // One unit, no columns, line delta zero.
    output.extend([0x80 | (13 << 3), 0]);
    write_nowhere(&mut output, n_units.saturating_sub(target + 1));
    output
}

fn write_nowhere(output: &mut Vec<u8>, mut n_units: usize) {
    const MAX_UNITS: usize = 8;
    while n_units > 0 {
        let length = n_units.min(MAX_UNITS);
        output.push(0x80 | (15 << 3) | (length as u8 - 1));
        n_units -= length;
    }
}

/// One entry: a run of instructions with one location.
enum Entry {
    /// Instructions without a location.
    Nowhere,
    /// `columns` is absent where the entry tells only a line.
    At {
        line_delta: i64,
        n_lines: u64,
        columns: Option<(u64, u64)>,
    },
}

impl Entry {
    fn read(code: u8, reader: &mut Reader<'_>) -> Option<Self> {
        Some(match code {
            15 => Self::Nowhere,
            14 => {
                let line_delta = reader.signed()?;
                let n_lines = reader.varint()?;
                // Columns are stored plus one; zero says that there is none.
                let (start, end) = (reader.varint()?, reader.varint()?);
                Self::At {
                    line_delta,
                    n_lines,
                    columns: Some((start, end)),
                }
            }
            13 => Self::At {
                line_delta: reader.signed()?,
                n_lines: 0,
                columns: None,
            },
            10..=12 => {
                let columns = (u64::from(reader.byte()?) + 1, u64::from(reader.byte()?) + 1);
                Self::At {
                    line_delta: i64::from(code - 10),
                    n_lines: 0,
                    columns: Some(columns),
                }
            }
            _ => {
                let second = reader.byte()?;
                let start = u64::from(code) << 3 | u64::from(second >> 4);
                Self::At {
                    line_delta: 0,
                    n_lines: 0,
                    columns: Some((start + 1, start + u64::from(second & 15) + 1)),
                }
            }
        })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 63) << shift;
            if byte & 64 == 0 {
                return Some(value);
            }
            shift += 6;
            if shift > 60 {
                return None;
            }
        }
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        let magnitude = i64::try_from(value >> 1).ok()?;
        Some(if value & 1 == 1 { -magnitude } else { magnitude })
    }
}

fn write_entry(output: &mut Vec<u8>, length: u8, line_delta: i64, n_lines: u64, columns: Option<(u64, u64)>) {
    let signed = line_delta.unsigned_abs() << 1 | u64::from(line_delta < 0);
    match columns {
        None => {
            output.push(0x80 | (13 << 3) | length);
            write_varint(output, signed);
        }
        Some((start, end)) => {
            output.push(0x80 | (14 << 3) | length);
            for value in [signed, n_lines, start, end] {
                write_varint(output, value);
            }
        }
    }
}

fn write_varint(output: &mut Vec<u8>, mut value: u64) {
    while value >= 64 {
        output.push((value & 63) as u8 | 64);
        value >>= 6;
    }
    output.push(value as u8);
}
