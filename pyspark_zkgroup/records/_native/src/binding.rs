//! What Python sees; its types are in _decoder.pyi.

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(_decoder, DamagedError, PyException);

#[pyo3::pymodule]
mod _decoder {
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::pybacked::PyBackedBytes;
    use pyo3::types::PyBytes;

    use crate::batch::Wanted;
    use crate::codecs::Unpacker;
    use crate::columns::{Columns, Limits};
    use crate::feed::{Feed, Step};
    use crate::headers::Headers;
    use crate::transactions::Aborted;

    #[pymodule_export]
    use super::DamagedError;

    /// The buffers of one Arrow batch.
    #[pyclass(frozen, get_all)]
    struct Buffers {
        rows: usize,
        key_nulls: usize,
        key_validity: Py<PyBytes>,
        key_ends: Py<PyBytes>,
        key_data: Py<PyBytes>,
        value_nulls: usize,
        value_validity: Py<PyBytes>,
        value_ends: Py<PyBytes>,
        value_data: Py<PyBytes>,
        topic_ends: Py<PyBytes>,
        topic_data: Py<PyBytes>,
        partitions: Py<PyBytes>,
        offsets: Py<PyBytes>,
        timestamps_us: Py<PyBytes>,
        timestamp_types: Py<PyBytes>,
        headers: Option<Py<HeaderBuffers>>,
    }

    /// Those of its column of headers.
    #[pyclass(frozen, get_all)]
    struct HeaderBuffers {
        nulls: usize,
        validity: Py<PyBytes>,
        ends: Py<PyBytes>,
        count: usize,
        key_ends: Py<PyBytes>,
        key_data: Py<PyBytes>,
        value_nulls: usize,
        value_validity: Py<PyBytes>,
        value_ends: Py<PyBytes>,
        value_data: Py<PyBytes>,
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
            headers: bool,
        ) -> Self {
            Self {
                limits: Limits { rows_max, bytes_max, unpacked_bytes_max },
                unpacker: Unpacker::default(),
                columns: Columns::new(headers),
                feed: None,
            }
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

        fn take(&mut self, py: Python<'_>) -> PyResult<Py<Buffers>> {
            let columns = &self.columns;
            let common = py.detach(|| columns.common());
            let made = |buffer: &[u8]| PyBytes::new(py, buffer).unbind();
            let buffers = Buffers {
                rows: columns.rows,
                key_nulls: columns.keys.nulls,
                key_validity: made(&columns.keys.validity),
                key_ends: made(&columns.keys.ends),
                key_data: made(&columns.keys.data),
                value_nulls: columns.values.nulls,
                value_validity: made(&columns.values.validity),
                value_ends: made(&columns.values.ends),
                value_data: made(&columns.values.data),
                topic_ends: made(&common.topic_ends),
                topic_data: made(&common.topics),
                partitions: made(&common.partitions),
                offsets: made(&columns.offsets),
                timestamps_us: made(&columns.timestamps_us),
                timestamp_types: made(&common.timestamp_types),
                headers: columns.headers.as_ref().map(|h| header_buffers(py, h)).transpose()?,
            };
            self.columns.clear();
            Py::new(py, buffers)
        }
    }

    fn header_buffers(py: Python<'_>, headers: &Headers) -> PyResult<Py<HeaderBuffers>> {
        let made = |buffer: &[u8]| PyBytes::new(py, buffer).unbind();
        let buffers = HeaderBuffers {
            nulls: headers.nulls,
            validity: made(&headers.validity),
            ends: made(&headers.ends),
            count: headers.count,
            key_ends: made(&headers.keys.ends),
            key_data: made(&headers.keys.data),
            value_nulls: headers.values.nulls,
            value_validity: made(&headers.values.validity),
            value_ends: made(&headers.values.ends),
            value_data: made(&headers.values.data),
        };
        Py::new(py, buffers)
    }
}
