//! Integer literals of any size, kept as bytes so that no number library is needed.

use crate::tree::Integer;

impl Integer {
    /// Reads digits of a radix up to 16; underscores are skipped, anything else gives nothing.
    pub(crate) fn from_digits(digits: &str, radix: u32) -> Option<Self> {
        let mut bytes: Vec<u8> = Vec::new();
        for character in digits.chars().filter(|character| *character != '_') {
            let mut carry = character.to_digit(radix)?;
            for byte in &mut bytes {
                carry += u32::from(*byte) * radix;
                *byte = low_byte(carry);
                carry >>= 8;
            }
            if carry > 0 {
                bytes.push(low_byte(carry));
            }
        }
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

fn low_byte(value: u32) -> u8 {
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
