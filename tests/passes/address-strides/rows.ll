; Elements of three rows: each one step from the one before, whatever the order of the sum, and one step of two rows where one is left out.
; CHECK: define ptx_kernel void @rows
; CHECK-NEXT: begin:
; CHECK-NEXT: %0 = call i64 asm "mul.wide.u32 $0, $1, 8;", "=l,r"(i32 %width)
; CHECK-NEXT: %1 = call i64 asm "mul.wide.u32 $0, $1, 4;", "=l,r"(i32 %width)
; CHECK: %x = load float, ptr addrspace(1) %a
; CHECK: %2 = getelementptr i8, ptr addrspace(1) %a, i64 %1
; CHECK-NEXT: %y = load float, ptr addrspace(1) %2, align 4, !invariant.load
; CHECK: %3 = getelementptr i8, ptr addrspace(1) %2, i64 %0
; CHECK-NEXT: %z = load float, ptr addrspace(1) %3, align 4, !invariant.load
define ptx_kernel void @rows(ptr addrspace(1) noalias readonly %p, ptr addrspace(1) %out, i64 %row, i32 %width) {
begin:
  %wide = zext i32 %width to i64
  %a = getelementptr float, ptr addrspace(1) %p, i64 %row
  %x = load float, ptr addrspace(1) %a, align 4
  %second = add i64 %row, %wide
  %b = getelementptr float, ptr addrspace(1) %p, i64 %second
  %y = load float, ptr addrspace(1) %b, align 4
  %thrice = mul i64 %wide, 3
  %fourth = add i64 %thrice, %row
  %d = getelementptr float, ptr addrspace(1) %p, i64 %fourth
  %z = load float, ptr addrspace(1) %d, align 4
  %xy = fadd float %x, %y
  %xyz = fadd float %xy, %z
  store float %xyz, ptr addrspace(1) %out, align 4
  ret void
}

; Steps back, of another number, of 64 bits, in another block, and to the group's memory stay as they are. What may be written is not marked.
; CHECK: define ptx_kernel void @others
; CHECK-NEXT: begin:
; CHECK-NEXT: %0 = call i64 asm "mul.wide.u32 $0, $1, 8;", "=l,r"(i32 %width)
; CHECK-NEXT: %wide =
; CHECK: %1 = getelementptr i8, ptr addrspace(1) %b, i64 %0
; CHECK-NEXT: load float, ptr addrspace(1) %1, align 4
; CHECK-NOT: asm
; CHECK-NOT: !invariant
define ptx_kernel void @others(ptr addrspace(1) %p, ptr addrspace(3) %q, i64 %row, i32 %width, i32 %height, i64 %long) {
begin:
  %wide = zext i32 %width to i64
  %high = zext i32 %height to i64
  %second = add i64 %row, %wide
  %b = getelementptr float, ptr addrspace(1) %p, i64 %second
  store float 1.0, ptr addrspace(1) %b, align 4
  %a = getelementptr float, ptr addrspace(1) %p, i64 %row
  %x = load float, ptr addrspace(1) %a, align 4
  %other = add i64 %row, %high
  %c = getelementptr float, ptr addrspace(1) %p, i64 %other
  store float %x, ptr addrspace(1) %c, align 4
  %far = add i64 %row, %long
  %d = getelementptr float, ptr addrspace(1) %p, i64 %far
  store float %x, ptr addrspace(1) %d, align 4
  %shared = getelementptr float, ptr addrspace(3) %q, i64 %row
  store float %x, ptr addrspace(3) %shared, align 4
  %shared.b = getelementptr float, ptr addrspace(3) %q, i64 %second
  store float %x, ptr addrspace(3) %shared.b, align 4
  %thrice = mul i64 %wide, 3
  %fourth = add i64 %row, %thrice
  %f = getelementptr float, ptr addrspace(1) %p, i64 %fourth
  %y = load float, ptr addrspace(1) %f, align 4
  store float %y, ptr addrspace(1) %f, align 4
  br label %next
next:
  %twice = shl i64 %wide, 1
  %third = add i64 %row, %twice
  %e = getelementptr float, ptr addrspace(1) %p, i64 %third
  store float %x, ptr addrspace(1) %e, align 4
  ret void
}

; Indices that are each a sum of the one before.
; CHECK: define ptx_kernel void @chain
; CHECK: %1 = getelementptr i8, ptr addrspace(1) %a, i64 %0
; CHECK: %2 = getelementptr i8, ptr addrspace(1) %1, i64 %0
; CHECK: %3 = getelementptr i8, ptr addrspace(1) %2, i64 %0
define ptx_kernel void @chain(ptr addrspace(1) %p, i64 %row, i32 %width, i32 %other) {
begin:
  %wide = zext i32 %width to i64
  %far = zext i32 %other to i64
  %first = add i64 %row, %far
  %a = getelementptr float, ptr addrspace(1) %p, i64 %first
  store float 1.0, ptr addrspace(1) %a, align 4
  %second = add i64 %first, %wide
  %b = getelementptr float, ptr addrspace(1) %p, i64 %second
  store float 2.0, ptr addrspace(1) %b, align 4
  %third = add i64 %second, %wide
  %c = getelementptr float, ptr addrspace(1) %p, i64 %third
  store float 3.0, ptr addrspace(1) %c, align 4
  %fourth = add i64 %wide, %third
  %d = getelementptr float, ptr addrspace(1) %p, i64 %fourth
  store float 4.0, ptr addrspace(1) %d, align 4
  ret void
}
