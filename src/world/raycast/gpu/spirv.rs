//! The kernel as SPIR-V without contraction.
//!
//! A driver may contract a product and a sum into one operation, which rounds once instead of twice. WGSL cannot
//! forbid this. SPIR-V can, by the decoration `NoContraction`, which naga does not write.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

const KERNEL: &str = include_str!("cast.wgsl");

/// Name of the kernel's entry point.
pub const ENTRY: &str = "main";
/// Number of threads in a workgroup; must equal that in the kernel.
pub const GROUP: u32 = 64;

/// Length of a module's header, words.
const HEADER: usize = 5;
const DECORATE: u32 = 71;
const MEMBER_DECORATE: u32 = 72;
const NO_CONTRACTION: u32 = 42;
/// Opcodes of arithmetic on floats: `OpFNegate`, `OpFAdd`, `OpFSub`, `OpFMul`, `OpFDiv`, `OpFRem`, `OpFMod`, products
/// of vectors and matrices, `OpDot`.
const ARITHMETIC: [u32; 14] =
    [127, 129, 131, 133, 136, 140, 141, 142, 143, 144, 145, 146, 147, 148];

/// The kernel as words of SPIR-V. Every operation that rounds is decorated, and every access is checked against its
/// bounds.
pub fn kernel() -> Result<Vec<u32>, String> {
    Ok(without_contraction(&compile(KERNEL)?))
}

fn compile(text: &str) -> Result<Vec<u32>, String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::FLOAT64)
        .validate(&module)
        .map_err(|error| error.emit_to_string(text))?;
    let restrict = BoundsCheckPolicy::Restrict;
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: BoundsCheckPolicies {
            index: restrict,
            buffer: restrict,
            image_load: restrict,
            binding_array: restrict,
        },
        force_loop_bounding: false,
        ..Default::default()
    };
    let entry = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: ENTRY.into(),
    };
    spv::write_vec(&module, &info, &options, Some(&entry)).map_err(|error| error.to_string())
}

/// The instructions of a module.
fn instructions(words: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = &words[HEADER.min(words.len())..];
    std::iter::from_fn(move || {
        let length = (rest.first()? >> 16) as usize;
        let (one, after) = rest.split_at_checked(length.max(1))?;
        rest = after;
        Some(one)
    })
}

/// Decorates the result of every operation that rounds.
fn without_contraction(words: &[u32]) -> Vec<u32> {
    let mut decorations = Vec::new();
    // Decorations come before types.
    let mut place = HEADER;
    let mut at = HEADER;
    for instruction in instructions(words) {
        let code = instruction[0] & 0xffff;
        at += instruction.len();
        if ARITHMETIC.contains(&code) {
            decorations.extend([3 << 16 | DECORATE, instruction[2], NO_CONTRACTION]);
        } else if [DECORATE, MEMBER_DECORATE].contains(&code) {
            place = at;
        }
    }
    [&words[..place], &decorations, &words[place..]].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const EXTENDED: u32 = 12;
    const FLOAT_TYPE: u32 = 22;
    const VECTOR_TYPE: u32 = 23;
    /// `Fma` of GLSL.std.450, which rounds once.
    const FUSED: u32 = 50;

    #[test]
    fn every_operation_that_rounds_is_decorated() {
        let words = kernel().expect("a kernel that naga accepts");
        let decorated: BTreeSet<u32> = instructions(&words)
            .filter(|i| i[0] == 3 << 16 | DECORATE && i[2] == NO_CONTRACTION)
            .map(|i| i[1])
            .collect();
        let mut floats = BTreeSet::new();
        let mut count = 0;
        for instruction in instructions(&words) {
            match instruction[0] & 0xffff {
                FLOAT_TYPE => {
                    floats.insert(instruction[1]);
                }
                VECTOR_TYPE if floats.contains(&instruction[2]) => {
                    floats.insert(instruction[1]);
                }
                EXTENDED => assert_ne!(instruction[4], FUSED, "a fused operation"),
                // Opcodes of integer arithmetic lie between those of floats; bit operations have opcodes from 194 on.
                code @ 126..=148 if floats.contains(&instruction[1]) => {
                    assert!(decorated.contains(&instruction[2]), "operation {code}");
                    count += 1;
                }
                _ => {}
            }
        }
        assert!(count > 150, "{count}");
        assert_eq!(count, decorated.len());
    }

    #[test]
    fn without_the_pass_nothing_is_decorated() {
        let words = compile(KERNEL).expect("a kernel that naga accepts");
        let is_decorated = |i: &[u32]| i[0] == 3 << 16 | DECORATE && i[2] == NO_CONTRACTION;
        assert!(!instructions(&words).any(is_decorated));
    }

    #[test]
    fn the_kernel_says_the_size_of_its_workgroups() {
        assert!(KERNEL.contains(&format!("@workgroup_size({GROUP})")));
    }
}
