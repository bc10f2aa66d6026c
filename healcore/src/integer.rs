//! Integer literals of any size, kept as bytes so that no number library is needed.

use crate::tree::Integer;

/// Twice what the rule on literals accepts.
const KEPT_BYTES: usize = 1_024;

impl Integer {
    /// Reads digits of a radix up to 16; underscores are skipped, anything else gives nothing.
    ///
    /// The work is bounded: of an integer that is far beyond what any rule accepts, only that much is kept.
    pub(crate) fn from_digits(digits: &str, radix: u32) -> Option<Self> {
        let mut bytes: Vec<u8> = Vec::new();
        let (mut value, mut scale) = (0, 1);
        for character in digits.chars().filter(|character| *character != '_') {
            value = value * radix + character.to_digit(radix)?;
            scale *= radix;
            if scale > u32::MAX / 16 / 16 {
                grow(&mut bytes, scale, value);
                (value, scale) = (0, 1);
            }
        }
        grow(&mut bytes, scale, value);
        Some(Self { bytes })
    }

    /// Returns the magnitude as little-endian bytes, empty for 0: what `int.from_bytes(…, "little")` takes.
    pub fn to_le_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the value where it fits.
    pub fn to_u64(&self) -> Option<u64> {
        if self.bytes.len() > 8 {
            return None;
        }
        Some(
            self.bytes
                .iter()
                .rev()
                .fold(0, |value, byte| (value << 8) | u64::from(*byte)),
        )
    }

    /// Returns the number of bits, 0 for 0.
    pub fn bits(&self) -> u64 {
        match self.bytes.split_last() {
            None => 0,
            Some((last, rest)) => rest.len() as u64 * 8 + u64::from(8 - last.leading_zeros()),
        }
    }
}

impl From<u64> for Integer {
    fn from(value: u64) -> Self {
        let mut bytes = value.to_le_bytes().to_vec();
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Self { bytes }
    }
}

/// Makes `bytes * scale + value` of bytes, unless they are many already.
fn grow(bytes: &mut Vec<u8>, scale: u32, value: u32) {
    if bytes.len() > KEPT_BYTES {
        return;
    }
    let mut carry = u64::from(value);
    for byte in bytes.iter_mut() {
        carry += u64::from(*byte) * u64::from(scale);
        *byte = low_byte(carry);
        carry >>= 8;
    }
    while carry > 0 {
        bytes.push(low_byte(carry));
        carry >>= 8;
    }
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use crate::tree::Integer;

    fn check(digits: &str, radix: u32, expect: Option<u64>) {
        assert_eq!(
            Integer::from_digits(digits, radix).and_then(|integer| integer.to_u64()),
            expect
        );
    }

    #[test]
    fn digits_of_each_radix_are_read() {
        check("0", 10, Some(0));
        check("00_1", 10, Some(1));
        check("1_000", 10, Some(1_000));
        check("ff", 16, Some(255));
        check("1000", 2, Some(8));
        check("18446744073709551615", 10, Some(u64::MAX));
        check("18446744073709551616", 10, None);
        check("8", 8, None);
        check(&format!("{}8", "0".repeat(100)), 10, Some(8));
    }

    #[test]
    fn what_is_kept_of_a_huge_integer_is_huge() {
        let huge = Integer::from_digits(&"9".repeat(16_000), 10).map(|integer| integer.bits());
        assert!(huge.is_some_and(|bits| bits > 8_000));
        let invalid = format!("{}x", "9".repeat(16_000));
        assert_eq!(
            Integer::from_digits(&invalid, 10).map(|integer| integer.bits()),
            None
        );
    }

    #[test]
    fn long_integers_are_exact() {
        // 10**40.
        let digits = format!("1{}", "0".repeat(40));
        let expect = 10_u128.pow(20).to_le_bytes();
        let factor = u128::from_le_bytes(expect);
        let integer = Integer::from_digits(&digits, 10).map(|integer| integer.to_le_bytes().to_vec());
        let mut bytes = integer.unwrap();
        // Divided by 10**20 twice it is 1.
        for _ in 0..2 {
            let mut rest: u128 = 0;
            for byte in bytes.iter_mut().rev() {
                let part = (rest << 8) | u128::from(*byte);
                *byte = u8::try_from(part / factor).unwrap();
                rest = part % factor;
            }
            assert_eq!(rest, 0);
        }
        assert_eq!(bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 1);
    }

    #[test]
    fn bits_are_counted_as_python_counts_them() {
        assert_eq!(Integer::from(0).bits(), 0);
        assert_eq!(Integer::from(256).bits(), 9);
        assert_eq!(
            Integer::from_digits(&"f".repeat(1024), 16).map(|integer| integer.bits()),
            Some(4_096)
        );
    }
}
