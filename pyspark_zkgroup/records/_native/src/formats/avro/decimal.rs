//! Decimals: bytes of a number in two's complement.

/// Of bytes in two's complement, the highest first.
pub fn decimal(bytes: &[u8], precision: u8) -> Option<i128> {
    let fill = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let (above, low) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut sixteen = [fill; 16];
    sixteen.get_mut(16 - low.len()..)?.copy_from_slice(low);
    let found = i128::from_be_bytes(sixteen);
    let is_whole = above.iter().all(|byte| *byte == fill) && (found < 0) == (fill != 0);
    let fits = found.unsigned_abs() < 10u128.checked_pow(u32::from(precision))?;
    (is_whole && fits).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimals_have_a_sign_and_must_fit() {
        assert_eq!(decimal(&[], 5), None);
        assert_eq!(decimal(&[0xff], 5), Some(-1));
        assert_eq!(decimal(&[0x01, 0x00], 5), Some(256));
        assert_eq!(decimal(&[0x00, 0xff], 5), Some(255));
        assert_eq!(decimal(&[0x7f, 0xff, 0xff], 5), None);
        assert_eq!(decimal(&[0xff; 40], 5), Some(-1));
        assert_eq!(decimal(&[0; 40], 5), Some(0));
        let mut large = [0; 17];
        large[1] = 0x80;
        assert_eq!(decimal(&large, 38), None);
    }
}
