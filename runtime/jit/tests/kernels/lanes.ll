; How often a point's sequence stays near zero: each work-item has its own number of iterations.
define void @mandelbrot(ptr noalias writeonly align 4 %out, ptr noalias readonly align 4 %real, float %imaginary) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds float, ptr %real, i64 %i
  %x = load float, ptr %at, align 4
  br label %iteration
iteration:
  %a = phi float [ 0.0, %start ], [ %a.next, %inside ]
  %b = phi float [ 0.0, %start ], [ %b.next, %inside ]
  %n = phi i32 [ 0, %start ], [ %n.next, %inside ]
  %aa = fmul float %a, %a
  %bb = fmul float %b, %b
  %length = fadd float %aa, %bb
  %far = fcmp ogt float %length, 4.0
  %last = icmp eq i32 %n, 200
  %stop = or i1 %far, %last
  br i1 %stop, label %done, label %inside
inside:
  %difference = fsub float %aa, %bb
  %a.next = fadd float %difference, %x
  %ab = fmul float %a, %b
  %twice = fmul float %ab, 2.0
  %b.next = fadd float %twice, %imaginary
  %n.next = add i32 %n, 1
  br label %iteration
done:
  %to = getelementptr inbounds i32, ptr %out, i64 %i
  store i32 %n, ptr %to, align 4
  ret void
}

; The forces of all points on each: a loop that all work-items iterate together.
define void @forces(ptr noalias writeonly align 4 %out, ptr noalias readonly align 4 %points, i64 %count) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds float, ptr %points, i64 %i
  %x = load float, ptr %at, align 4
  br label %iteration
iteration:
  %k = phi i64 [ 0, %start ], [ %k.next, %inside ]
  %sum = phi float [ 0.0, %start ], [ %sum.next, %inside ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %inside, label %done
inside:
  %from = getelementptr inbounds float, ptr %points, i64 %k
  %y = load float, ptr %from, align 4
  %d = fsub float %y, %x
  %dd = fmul float %d, %d
  %more.than.none = fadd float %dd, 1.0
  %root = call float @llvm.sqrt.f32(float %more.than.none)
  %part = fdiv float %d, %root
  %sum.next = fadd float %sum, %part
  %k.next = add i64 %k, 1
  br label %iteration
done:
  %to = getelementptr inbounds float, ptr %out, i64 %i
  store float %sum, ptr %to, align 4
  ret void
}

; A loaded index that is checked, in the middle of a work-item.
define void @gather(ptr noalias writeonly align 4 %out, ptr noalias readonly align 4 %index, i64 %count) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds i32, ptr %index, i64 %i
  %place = load i32, ptr %at, align 4
  %wide = zext i32 %place to i64
  %inside = icmp ult i64 %wide, %count
  br i1 %inside, label %fine, label %wrong
fine:
  %from = getelementptr inbounds i32, ptr %index, i64 %wide
  %value = load i32, ptr %from, align 4
  %odd = and i32 %value, 1
  %is.odd = icmp ne i32 %odd, 0
  br i1 %is.odd, label %store, label %done
store:
  %to = getelementptr inbounds i32, ptr %out, i64 %i
  store i32 %value, ptr %to, align 4
  br label %done
done:
  ret void
wrong:
  call void @__schism_panic(ptr @text, i64 7, ptr @place)
  unreachable
}

@text = private constant [7 x i8] c"outside"
@file = private constant [4 x i8] c"f.rs"
@place = private constant { ptr, i64, i32, i32 } { ptr @file, i64 4, i32 3, i32 1 }
declare float @llvm.sqrt.f32(float)

; Quotients and remainders by a number that is the same for all work-items, with signs and without, and of 64 bits.
define void @quotients(ptr noalias %out, ptr noalias %in, i64 %by) {
  %x = call i64 @__schism_global_id_x()
  %from = getelementptr inbounds i32, ptr %in, i64 %x
  %v = load i32, ptr %from
  %narrow = trunc i64 %by to i32
  %q = udiv i32 %v, %narrow
  %r = urem i32 %v, %narrow
  %minus = icmp eq i32 %narrow, -1
  %safe = select i1 %minus, i32 1, i32 %narrow
  %sq = sdiv i32 %v, %safe
  %sr = srem i32 %v, %safe
  %short = trunc i32 %v to i16
  %short.by = trunc i64 %by to i16
  %some = or i16 %short.by, 1
  %hq = udiv i16 %short, %some
  %hq32 = zext i16 %hq to i32
  %wide = zext i32 %v to i64
  %far = shl i64 %wide, 3
  %wq = udiv i64 %far, %by
  %wr = urem i64 %far, %by
  %w = xor i64 %wq, %wr
  %w.low = trunc i64 %w to i32
  %a0 = mul i32 %r, 3
  %a1 = mul i32 %sq, 5
  %a2 = mul i32 %sr, 7
  %a3 = mul i32 %hq32, 11
  %a4 = mul i32 %w.low, 13
  %s0 = add i32 %q, %a0
  %s1 = add i32 %s0, %a1
  %s2 = add i32 %s1, %a2
  %s3 = add i32 %s2, %a3
  %s4 = add i32 %s3, %a4
  %to = getelementptr inbounds i32, ptr %out, i64 %x
  store i32 %s4, ptr %to
  ret void
}
