//! Temporary.
#![allow(missing_docs)]
use schism_jit::{PtxOptions, Request, compile_ptx};
use schism_jit_abi::{ASSUME_DIVISIBLE, ASSUME_INDEX_32, PARAM_INTEGER, PARAM_POINTER, Param};
use schism_tests::container::records_of;
fn main() {
    let mut args = std::env::args().skip(1);
    let (file, part, group, out) = (args.next().unwrap(), args.next().unwrap(), args.next().unwrap(), args.next().unwrap());
    let general = args.next().is_some();
    let mut g = [1u32; 3];
    for (at, n) in group.split('x').rev().enumerate() { g[at] = n.parse().unwrap(); }
    let contents = std::fs::read(file).unwrap();
    for record in records_of(&contents) {
        for kernel in record.kernels() {
            if !kernel.name.contains(&part[..]) { continue; }
            let image = kernel.images.first().and_then(|name| record.image(name));
            let params: Vec<Param> = kernel.parameters.iter().map(Param::from).collect();
            let of_kind = |kinds: &[u32]| {
                let bits = params.iter().enumerate();
                bits.filter(|(_, param)| param.size == 8 && kinds.contains(&param.kind)).map(|(at, _)| 1 << at).sum()
            };
            let options = PtxOptions {
                arch: "sm_90".to_owned(),
                assumptions: if general { 0 } else { ASSUME_INDEX_32 | ASSUME_DIVISIBLE },
                local_align: kernel.groups.map_or(0, |groups| groups.local_align),
                group: if general { [0; 3] } else { g },
                aligned: if general { 0 } else { of_kind(&[PARAM_POINTER, PARAM_INTEGER]) },
                narrow: if general { 0 } else { of_kind(&[PARAM_INTEGER]) },
                ..PtxOptions::default()
            };
            let request = Request {
                image: image.unwrap().data.to_vec(),
                kernel: kernel.name.to_string(),
                params,
                closure_size: kernel.closure_size,
                closure_align: kernel.closure_align,
                dimensions: kernel.dimensions,
                ..Request::default()
            };
            let code = compile_ptx(request, options).unwrap();
            std::fs::write(&out, code.text()).unwrap();
            eprintln!("{}", kernel.name);
        }
    }
}
