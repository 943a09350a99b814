//! The native decoder: record batches of Kafka in, the buffers of Arrow columns out. What it has to
//! agree with, for every input, is the reference decoder in reference.py.
//!
//! Only `binding` knows Python. All else is plain: bytes in, columns or a `Damaged` out; it holds no
//! more memory than the limits it is given, and has no way to panic on what it reads.

#![forbid(unsafe_code)]
// Tests are programs of their own, without Python.
#![cfg_attr(test, allow(dead_code))]

mod array;
mod batch;
#[cfg(not(test))]
mod binding;
mod codecs;
mod columns;
mod cursor;
mod feed;
mod formats;
mod headers;
mod java_text;
mod transactions;
