//! Numbers in the buffers of a glTF file.

use ::gltf::Accessor;
use ::gltf::accessor::{DataType, Dimensions, Item, Iter, sparse::IndexType};

use super::Loader;
use crate::world::loaders::error::Problem;

impl<'a> Loader<'a> {
    pub fn positions(&self, accessor: Accessor<'a>) -> Result<Vec<[f32; 3]>, Problem> {
        if (accessor.data_type(), accessor.dimensions()) != (DataType::F32, Dimensions::Vec3) {
            return Err(wrong_accessor(&accessor, "three floats for positions"));
        }
        self.check(&accessor)?;
        self.items(accessor)
    }

    pub fn indices(&self, accessor: Accessor<'a>, vertices: usize) -> Result<Vec<u32>, Problem> {
        let wrong = wrong_accessor(&accessor, "unsigned integers for indices");
        if accessor.dimensions() != Dimensions::Scalar {
            return Err(wrong);
        }
        self.check(&accessor)?;
        let indices: Vec<u32> = match accessor.data_type() {
            DataType::U8 => self.items::<u8>(accessor)?.into_iter().map(u32::from).collect(),
            DataType::U16 => self.items::<u16>(accessor)?.into_iter().map(u32::from).collect(),
            DataType::U32 => self.items(accessor)?,
            _ => return Err(wrong),
        };
        match indices.iter().find(|&&index| index as usize >= vertices) {
            None => Ok(indices),
            Some(&index) => Err(Problem::IndexOutOfRange {
                what: "vertex",
                index: i64::from(index),
                available: vertices,
                first: 0,
            }),
        }
    }

    /// The items of an accessor that has been [checked](Self::check).
    pub fn items<T: Item>(&self, accessor: Accessor<'a>) -> Result<Vec<T>, Problem> {
        let index = accessor.index();
        let data = |buffer: ::gltf::Buffer| self.buffers.get(buffer.index()).map(|data| &data[..]);
        let items = Iter::new(accessor, data).ok_or_else(|| out_of_buffer(index))?;
        Ok(items.collect())
    }

    /// Checks that all data of an accessor lies within its buffers.
    pub fn check(&self, accessor: &Accessor) -> Result<(), Problem> {
        let outside = || out_of_buffer(accessor.index());
        let view = accessor.view().ok_or_else(|| {
            Problem::Unsupported(format!("accessor {} without a buffer view", accessor.index()))
        })?;
        let size = accessor.size();
        self.check_run(&view, accessor.offset(), accessor.count(), size).ok_or_else(outside)?;
        if let Some(sparse) = accessor.sparse() {
            let (indices, values) = (sparse.indices(), sparse.values());
            let index_size = match indices.index_type() {
                IndexType::U8 => 1,
                IndexType::U16 => 2,
                IndexType::U32 => 4,
            };
            let count = sparse.count();
            self.check_run(&indices.view(), indices.offset(), count, index_size)
                .and_then(|()| self.check_run(&values.view(), values.offset(), count, size))
                .ok_or_else(outside)?;
        }
        Ok(())
    }

    /// Checks that `count` items of `size` bytes lie within `view`, and `view` within its buffer.
    fn check_run(
        &self,
        view: &::gltf::buffer::View,
        offset: usize,
        count: usize,
        size: usize,
    ) -> Option<()> {
        let stride = view.stride().unwrap_or(size);
        let end = stride.checked_mul(count.checked_sub(1)?)?.checked_add(size)?;
        let view_end = view.offset().checked_add(view.length())?;
        let buffer = self.buffers.get(view.buffer().index())?;
        let fits =
            stride >= size && offset.checked_add(end)? <= view.length() && view_end <= buffer.len();
        fits.then_some(())
    }
}

pub fn wrong_accessor(accessor: &Accessor, expected: &str) -> Problem {
    let got = format!("accessor {} of {:?}", accessor.index(), accessor.data_type());
    Problem::wrong(expected, format!("{got} {:?}, {}", accessor.dimensions(), accessor.count()))
}

pub fn out_of_buffer(accessor: usize) -> Problem {
    Problem::Syntax(format!("accessor {accessor} is empty or reaches beyond its buffer"))
}
