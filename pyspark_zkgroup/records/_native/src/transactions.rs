//! Which record batches of an answer belong to transactions that were aborted.
//!
//! A broker names them by their producer and first offset. A producer's batches are left out from
//! there to its next abort marker, which is a separate control batch; it may begin again behind
//! that.

use std::collections::HashSet;

use crate::batch::{Batch, Reason};

#[derive(Default)]
pub struct Aborted {
    /// By their first offset, the next one last.
    to_come: Vec<Transaction>,
    producers: HashSet<i64>,
}

struct Transaction {
    producer_id: i64,
    first_offset: i64,
}

impl Aborted {
    /// Of producers and first offsets.
    pub fn new(transactions: &[(i64, i64)]) -> Self {
        let mut to_come: Vec<_> = transactions
            .iter()
            .map(|&(producer_id, first_offset)| Transaction { producer_id, first_offset })
            .collect();
        to_come.sort_unstable_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self { to_come, producers: HashSet::new() }
    }

    /// Asked once for every batch of magic 2, in the order of their offsets. `records` is what
    /// follows the head.
    pub fn leaves_out(&mut self, batch: &Batch, records: &[u8]) -> Result<bool, Reason> {
        if self.to_come.is_empty() && self.producers.is_empty() || !batch.has_producer() {
            return Ok(false);
        }
        let last_offset = batch.last_offset();
        while let Some(begun) = self.to_come.pop_if(|next| next.first_offset <= last_offset) {
            self.producers.insert(begun.producer_id);
        }
        if !self.producers.contains(&batch.producer_id) {
            return Ok(false);
        }
        if !batch.is_control {
            return Ok(batch.is_transactional);
        }
        if batch.is_abort_marker(records)? {
            self.producers.remove(&batch.producer_id);
        }
        Ok(true)
    }
}
