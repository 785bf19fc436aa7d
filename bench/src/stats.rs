//! Numbers from many numbers.

/// The smallest number that this many of a hundred do not exceed; it is one of them.
pub(crate) fn percentile(sorted: &[f64], hundredths: usize) -> f64 {
    let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The middle one; of an even number the lower of the two in the middle.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    percentile(&sorted, 50)
}

/// The least and the most.
pub(crate) fn range(numbers: &[f64]) -> [f64; 2] {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    [least, numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_numbers() {
        let sorted: Vec<f64> = (1..=30).map(f64::from).collect();
        let some = [0, 50, 99, 100].map(|hundredths| percentile(&sorted, hundredths));
        assert_eq!(some, [1.0, 15.0, 30.0, 30.0]);
        assert!(percentile(&[], 50).is_nan());
    }

    #[test]
    fn the_median_does_not_mind_the_order() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(range(&[9.0, 1.0, 5.0]), [1.0, 9.0]);
    }
}
