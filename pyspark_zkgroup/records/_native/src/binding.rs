//! What Python sees; its types are in _decoder.pyi.

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(_decoder, DamagedError, PyException);

#[pyo3::pymodule]
mod _decoder {
    use std::borrow::Cow;
    use std::ops::Range;

    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::pybacked::PyBackedBytes;
    use pyo3::types::PyBytes;

    use crate::array;
    use crate::batch::Wanted;
    use crate::codecs::Unpacker;
    use crate::columns::{Column, Columns, Limits};
    use crate::feed::{Feed, Step};
    use crate::formats::avro::{self, Step as AvroStep};
    use crate::formats::json;
    use crate::formats::parsed::Parser;
    use crate::formats::protobuf;
    use crate::transactions::Aborted;

    #[pymodule_export]
    use super::DamagedError;

    /// Raised with every change of what Python sees, so that an older build is not taken for this.
    #[pymodule_export]
    const INTERFACE: u32 = 5;

    /// See array.rs.
    #[pyclass(frozen, get_all)]
    struct Array {
        length: usize,
        nulls: usize,
        buffers: Vec<Option<Py<PyBytes>>>,
        children: Vec<Py<Array>>,
    }

    /// The columns of one Arrow batch.
    #[pyclass(frozen, get_all)]
    struct Batch {
        rows: usize,
        columns: Vec<Py<Array>>,
    }

    #[pyclass]
    struct Decoder {
        limits: Limits,
        unpacker: Unpacker,
        columns: Columns,
        feed: Option<Feed<PyBackedBytes>>,
    }

    #[pymethods]
    impl Decoder {
        #[new]
        fn new(
            rows_max: usize,
            bytes_max: usize,
            unpacked_bytes_max: usize,
            columns: Vec<String>,
        ) -> PyResult<Self> {
            let named = |name: &String| {
                Column::named(name)
                    .ok_or_else(|| PyValueError::new_err(format!("there is no column {name}")))
            };
            let columns = columns.iter().map(named).collect::<PyResult<Vec<_>>>()?;
            Ok(Self {
                limits: Limits { rows_max, bytes_max, unpacked_bytes_max },
                unpacker: Unpacker::default(),
                columns: Columns::new(columns),
                feed: None,
            })
        }

        #[allow(clippy::too_many_arguments)]
        fn open(
            &mut self,
            data: PyBackedBytes,
            at: usize,
            end: usize,
            topic: String,
            partition: i32,
            start: i64,
            until: i64,
            aborted: Vec<(i64, i64)>,
        ) -> PyResult<()> {
            let wanted = Wanted { topic, partition, start, until };
            let feed = Feed::new(data, at, end, wanted, Aborted::new(&aborted));
            self.feed = Some(feed.ok_or_else(|| {
                PyValueError::new_err(format!("there are no bytes from {at} to {end}"))
            })?);
            Ok(())
        }

        fn step<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
            let Self { limits, unpacker, columns, feed } = self;
            let Some(open) = feed else {
                return Ok(None);
            };
            match py.detach(|| open.step(limits, unpacker, columns)) {
                Ok(Step::Full) => Ok(Some(self.take(py)?.into_bound(py).into_any())),
                Ok(Step::Reference { at, end }) => {
                    Ok(Some((at, end).into_pyobject(py)?.into_any()))
                }
                Ok(Step::End) => {
                    self.feed = None;
                    Ok(None)
                }
                Err(damaged) => {
                    self.feed = None;
                    Err(DamagedError::new_err((damaged.reason, damaged.offset)))
                }
            }
        }

        #[getter]
        fn rows(&self) -> usize {
            self.columns.rows
        }

        fn take(&mut self, py: Python<'_>) -> PyResult<Py<Batch>> {
            let arrays = py.detach(|| self.columns.arrays());
            let columns = arrays.iter().map(|array| made(py, array)).collect::<PyResult<_>>()?;
            drop(arrays);
            let batch = Batch { rows: self.columns.rows, columns };
            self.columns.clear();
            Py::new(py, batch)
        }
    }

    #[pyclass]
    struct JsonParser {
        parser: json::JsonParser,
    }

    #[pyclass]
    struct AvroParser {
        parser: avro::AvroParser,
    }

    #[pyclass]
    struct ProtobufParser {
        parser: protobuf::ProtobufParser,
    }

    /// What became of some rows.
    #[pyclass(frozen, get_all)]
    struct Parsed {
        rows: usize,
        bad: usize,
        values: Py<Array>,
        reasons: Py<Array>,
        unknown: Option<u64>,
    }

    #[pymethods]
    impl JsonParser {
        #[new]
        fn new(
            words: Vec<String>,
            first_offset_s: i64,
            changes: Vec<(i64, i64)>,
            span_s: (i64, i64),
        ) -> PyResult<Self> {
            let zone = json::Zone::new(first_offset_s, &changes, span_s);
            let parser = json::JsonParser::new(words.iter().map(String::as_str), zone);
            let parser = parser.ok_or_else(|| PyValueError::new_err(words.join(" ")))?;
            Ok(Self { parser })
        }

        /// Rows `from` on of a column of bytes, in Arrow's layout.
        fn parse(
            &mut self,
            py: Python<'_>,
            column: BinaryColumn,
            from: usize,
            to: usize,
        ) -> PyResult<Py<Parsed>> {
            parsed(py, &mut self.parser, &column, from..to)
        }
    }

    #[pymethods]
    impl AvroParser {
        #[new]
        fn new(words: Vec<String>, framing: &str) -> PyResult<Self> {
            let parser = avro::AvroParser::new(words.iter().map(String::as_str), framing);
            let parser = parser.ok_or_else(|| PyValueError::new_err(words.join(" ")))?;
            Ok(Self { parser })
        }

        fn add(&mut self, schema: u64, steps: Vec<AvroStep>) -> PyResult<()> {
            if !self.parser.add(schema, &steps) {
                return Err(PyValueError::new_err("these steps are no program"));
            }
            Ok(())
        }

        /// See `JsonParser::parse`.
        fn parse(
            &mut self,
            py: Python<'_>,
            column: BinaryColumn,
            from: usize,
            to: usize,
        ) -> PyResult<Py<Parsed>> {
            parsed(py, &mut self.parser, &column, from..to)
        }
    }

    #[pymethods]
    impl ProtobufParser {
        #[new]
        fn new(words: Vec<String>, is_framed: bool) -> PyResult<Self> {
            let parser = protobuf::ProtobufParser::new(words.iter().map(String::as_str), is_framed);
            let parser = parser.ok_or_else(|| PyValueError::new_err(words.join(" ")))?;
            Ok(Self { parser })
        }

        fn frame(&self, number: u64) -> Option<protobuf::Frame> {
            self.parser.frame(number).cloned()
        }

        fn add(&mut self, number: u64, steps: Vec<protobuf::Step>) -> PyResult<()> {
            if !self.parser.add(number, &steps) {
                return Err(PyValueError::new_err("these steps are no program"));
            }
            Ok(())
        }

        /// See `JsonParser::parse`.
        fn parse(
            &mut self,
            py: Python<'_>,
            column: BinaryColumn,
            from: usize,
            to: usize,
        ) -> PyResult<Py<Parsed>> {
            parsed(py, &mut self.parser, &column, from..to)
        }
    }

    /// Bits of those that are not null, ends, data.
    type BinaryColumn = (Option<PyBackedBytes>, PyBackedBytes, PyBackedBytes);

    #[inline(always)]
    fn value((validity, ends, data): &BinaryColumn, row: usize) -> Option<&[u8]> {
        let end = |row: usize| {
            let four = ends.get(4 * row..)?.first_chunk::<4>()?;
            usize::try_from(i32::from_ne_bytes(*four)).ok()
        };
        let is_valid = validity
            .as_ref()
            .is_none_or(|bits| bits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1));
        let bytes = data.get(end(row)?..end(row + 1)?);
        bytes.filter(|_| is_valid)
    }

    fn parsed(
        py: Python<'_>,
        parser: &mut (impl Parser + Send),
        column: &BinaryColumn,
        rows: Range<usize>,
    ) -> PyResult<Py<Parsed>> {
        let values = rows.map(|row| value(column, row));
        let found = py.detach(|| parser.parse(values));
        let made = Parsed {
            rows: found.rows,
            bad: found.bad,
            values: made(py, &found.values)?,
            reasons: made(py, &found.reasons)?,
            unknown: found.unknown,
        };
        Py::new(py, made)
    }

    fn made(py: Python<'_>, array: &array::Array<'_>) -> PyResult<Py<Array>> {
        let bytes = |buffer: &Cow<'_, [u8]>| PyBytes::new(py, buffer).unbind();
        let made = Array {
            length: array.length,
            nulls: array.nulls,
            buffers: array.buffers.iter().map(|buffer| buffer.as_ref().map(bytes)).collect(),
            children: array
                .children
                .iter()
                .map(|child| made(py, child))
                .collect::<PyResult<_>>()?,
        };
        Py::new(py, made)
    }
}
