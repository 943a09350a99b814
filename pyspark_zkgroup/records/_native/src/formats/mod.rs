//! Formats of keys and values: the bytes of a column in, Arrow arrays out. One folder for each.

pub mod avro;
pub mod build;
pub mod json;
pub mod kind;
pub mod parsed;
pub mod protobuf;
pub mod quoted;
