//! Captures that some device once got wrong.

// The address is no multiple of 8 from the beginning of the parameter.
kernel!(at_an_odd_offset, Option<Packed<u8, Words>>, |env| Some(Packed(7, env.view(1, 3, 9))));
kernel!(at_odd_offsets_in_an_array, [Option<Packed<u8, Words>>; 40], |env| {
    std::array::from_fn(|i| (i % 3 != 0).then(|| Packed(i as u8, env.view(i, i, i + 2))))
});

kernel!(in_an_option, Option<Words>, |env| Some(env.view(2, 0, 7)));
kernel!(in_an_enum_with_a_tag, Result<Words, u64>, |env| Ok(env.view(2, 0, 7)));

// Numbers that look like addresses of a buffer.
kernel!(a_number_in_an_option, Option<[u64; 2]>, |env| Some([env.address(0, 5), env.address(1, 0)]));
kernel!(numbers_in_a_long_array, ([u64; 20], Words), |env| ([env.address(2, 1); 20], env.view(0, 0, 4)));
kernel!(a_number_beside_a_view, Result<(u64, Words), [u64; 3]>, |env| {
    Ok((env.address(0, 1), env.view(2, 1, 5)))
});
kernel!(a_number_in_place_of_a_view, Result<(u64, Words), [u64; 3]>, |env| Err([env.address(1, 1); 3]));

/// An address or a number, which are one scalar to the compiler.
#[derive(Clone, Copy)]
pub enum Either {
    Number(u64),
    Address(Address),
}

/// What has an address and nothing else.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Address(*const u32);

// SAFETY: it is the address of a buffer's elements, which is not written.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}
// SAFETY: as of a view.
unsafe impl Capture for Address {}

impl Address {
    fn of(view: Words) -> Self {
        let [first, second] = unsafe { std::mem::transmute::<Words, [usize; 2]>(view) };
        let address = if second == view.len() { first } else { second };
        Self(std::ptr::with_exposed_provenance(address))
    }
}

impl Walk for Address {
    fn walk(&self, sink: &mut Sink) {
        // SAFETY: there is an element, of which this is the view; on the host it is read as a view
        // is.
        let view = unsafe { std::mem::transmute::<&[u32], Words>(std::slice::from_raw_parts(self.0, 1)) };
        view.walk(sink);
    }
}

impl Walk for Either {
    fn walk(&self, sink: &mut Sink) {
        match self {
            Self::Number(number) => {
                sink.add(5);
                number.walk(sink);
            }
            Self::Address(address) => address.walk(sink),
        }
    }
}

kernel!(an_address_or_a_number, Only<Either>, |env| Only(Either::Address(Address::of(env.view(1, 7, 9)))));
kernel!(a_number_or_an_address, Only<Either>, |env| Only(Either::Number(env.address(1, 7))));

// What may not be there must not be looked at.
kernel!(nothing_in_a_union, Maybe<Words>, |_| Maybe::none());
kernel!(something_in_a_union, (u8, Maybe<Packed<u8, Words>>), |env| {
    (1, Maybe::some(Packed(2, env.view(0, 2, 8))))
});

// Values that code shall know, which addresses are not.
kernel!(specialized_views, Specialized<[Words; 17]>, |env| {
    Specialized::new(std::array::from_fn(|i| env.view(i, i, 2 * i)))
});
kernel!(a_specialized_option, Specialized<Only<Option<Words>>>, |env| {
    Specialized::new(Only(Some(env.view(2, 5, 9))))
});

// Tags of 128 bits, and discriminants below zero.
kernel!(a_wide_niche, Option<(NonZeroU128, Words)>, |env| {
    Some((NonZeroU128::new(1 << 90).expect("not 0"), env.view(0, 1, 3)))
});

#[derive(Clone, Copy)]
#[repr(i16)]
pub enum Signed {
    Low(u8, Words) = -3,
    None = 2,
    High(Packed<u8, Words>) = 700,
}

impl Walk for Signed {
    fn walk(&self, sink: &mut Sink) {
        match self {
            Self::Low(number, view) => (*number, *view).walk(sink),
            Self::None => sink.add(6),
            Self::High(packed) => packed.walk(sink),
        }
    }
}

kernel!(discriminants, [Signed; 3], |env| {
    [Signed::High(Packed(1, env.view(0, 1, 3))), Signed::None, Signed::Low(9, env.view(1, 1, 3))]
});
kernel!(a_niche_of_tags, (Option<Signed>, Option<Option<Signed>>), |env| {
    (Some(Signed::Low(1, env.view(2, 0, 9))), None)
});

pub fn check(harness: &Harness) {
    in_an_option::check(harness);
    in_an_enum_with_a_tag::check(harness);
    at_an_odd_offset::check(harness);
    at_odd_offsets_in_an_array::check(harness);
    a_number_in_an_option::check(harness);
    numbers_in_a_long_array::check(harness);
    a_number_beside_a_view::check(harness);
    a_number_in_place_of_a_view::check(harness);
    an_address_or_a_number::check(harness);
    a_number_or_an_address::check(harness);
    nothing_in_a_union::check(harness);
    something_in_a_union::check(harness);
    specialized_views::check(harness);
    a_specialized_option::check(harness);
    a_wide_niche::check(harness);
    discriminants::check(harness);
    a_niche_of_tags::check(harness);
}
