; Words, a few bytes, and bytes that are used in the block that loads them.

define ptx_kernel void @words(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to, i64 %count) {
begin:
  %a0 = getelementptr i8, ptr addrspace(1) %from, i64 0
  %x0 = load i32, ptr addrspace(1) %a0, align 16
  %a1 = getelementptr i8, ptr addrspace(1) %from, i64 4
  %x1 = load i32, ptr addrspace(1) %a1, align 4
  %a2 = getelementptr i8, ptr addrspace(1) %from, i64 8
  %x2 = load i32, ptr addrspace(1) %a2, align 4
  %a3 = getelementptr i8, ptr addrspace(1) %from, i64 12
  %x3 = load i32, ptr addrspace(1) %a3, align 4
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi i32 [ 0, %begin ], [ %s3, %loop ]
  %s0 = xor i32 %sum, %x0
  %s1 = xor i32 %s0, %x1
  %s2 = xor i32 %s1, %x2
  %s3 = xor i32 %s2, %x3
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  store i32 %s3, ptr addrspace(1) %to
  ret void
}

define ptx_kernel void @few(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to, i64 %count) {
begin:
  %a0 = getelementptr i8, ptr addrspace(1) %from, i64 0
  %x0 = load i8, ptr addrspace(1) %a0, align 16
  %a1 = getelementptr i8, ptr addrspace(1) %from, i64 1
  %x1 = load i8, ptr addrspace(1) %a1, align 1
  %a2 = getelementptr i8, ptr addrspace(1) %from, i64 2
  %x2 = load i8, ptr addrspace(1) %a2, align 1
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi i8 [ 0, %begin ], [ %s2, %loop ]
  %s0 = xor i8 %sum, %x0
  %s1 = xor i8 %s0, %x1
  %s2 = xor i8 %s1, %x2
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  store i8 %s2, ptr addrspace(1) %to
  ret void
}

define ptx_kernel void @once(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to) {
begin:
  %x0 = load i8, ptr addrspace(1) %from, align 16
  %a1 = getelementptr i8, ptr addrspace(1) %from, i64 1
  %x1 = load i8, ptr addrspace(1) %a1, align 1
  %a2 = getelementptr i8, ptr addrspace(1) %from, i64 2
  %x2 = load i8, ptr addrspace(1) %a2, align 1
  %a3 = getelementptr i8, ptr addrspace(1) %from, i64 3
  %x3 = load i8, ptr addrspace(1) %a3, align 1
  %s1 = xor i8 %x0, %x1
  %s2 = xor i8 %s1, %x2
  %s3 = xor i8 %s2, %x3
  br label %loop
loop:
  %k = phi i8 [ %s3, %begin ], [ %next, %loop ]
  %next = lshr i8 %k, 1
  %more = icmp ne i8 %next, 0
  br i1 %more, label %loop, label %done
done:
  store i8 %s3, ptr addrspace(1) %to
  ret void
}

; BLESS: the output, line by line
; CHECK: define ptx_kernel void @words(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to, i64 %count) {
; CHECK-NEXT: begin:
; CHECK-NEXT: %a0 = getelementptr i8, ptr addrspace(1) %from, i64 0
; CHECK-NEXT: %x0 = load i32, ptr addrspace(1) %a0, align 16
; CHECK-NEXT: %a1 = getelementptr i8, ptr addrspace(1) %from, i64 4
; CHECK-NEXT: %x1 = load i32, ptr addrspace(1) %a1, align 4
; CHECK-NEXT: %a2 = getelementptr i8, ptr addrspace(1) %from, i64 8
; CHECK-NEXT: %x2 = load i32, ptr addrspace(1) %a2, align 4
; CHECK-NEXT: %a3 = getelementptr i8, ptr addrspace(1) %from, i64 12
; CHECK-NEXT: %x3 = load i32, ptr addrspace(1) %a3, align 4
; CHECK-NEXT: br label %loop
; CHECK-EMPTY:
; CHECK-NEXT: loop: ; preds = %loop, %begin
; CHECK-NEXT: %k = phi i64 [ 0, %begin ], [ %next, %loop ]
; CHECK-NEXT: %sum = phi i32 [ 0, %begin ], [ %s3, %loop ]
; CHECK-NEXT: %s0 = xor i32 %sum, %x0
; CHECK-NEXT: %s1 = xor i32 %s0, %x1
; CHECK-NEXT: %s2 = xor i32 %s1, %x2
; CHECK-NEXT: %s3 = xor i32 %s2, %x3
; CHECK-NEXT: %next = add i64 %k, 1
; CHECK-NEXT: %more = icmp ult i64 %next, %count
; CHECK-NEXT: br i1 %more, label %loop, label %done
; CHECK-EMPTY:
; CHECK-NEXT: done: ; preds = %loop
; CHECK-NEXT: store i32 %s3, ptr addrspace(1) %to, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define ptx_kernel void @few(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to, i64 %count) {
; CHECK-NEXT: begin:
; CHECK-NEXT: %a0 = getelementptr i8, ptr addrspace(1) %from, i64 0
; CHECK-NEXT: %x0 = load i8, ptr addrspace(1) %a0, align 16
; CHECK-NEXT: %a1 = getelementptr i8, ptr addrspace(1) %from, i64 1
; CHECK-NEXT: %x1 = load i8, ptr addrspace(1) %a1, align 1
; CHECK-NEXT: %a2 = getelementptr i8, ptr addrspace(1) %from, i64 2
; CHECK-NEXT: %x2 = load i8, ptr addrspace(1) %a2, align 1
; CHECK-NEXT: br label %loop
; CHECK-EMPTY:
; CHECK-NEXT: loop: ; preds = %loop, %begin
; CHECK-NEXT: %k = phi i64 [ 0, %begin ], [ %next, %loop ]
; CHECK-NEXT: %sum = phi i8 [ 0, %begin ], [ %s2, %loop ]
; CHECK-NEXT: %s0 = xor i8 %sum, %x0
; CHECK-NEXT: %s1 = xor i8 %s0, %x1
; CHECK-NEXT: %s2 = xor i8 %s1, %x2
; CHECK-NEXT: %next = add i64 %k, 1
; CHECK-NEXT: %more = icmp ult i64 %next, %count
; CHECK-NEXT: br i1 %more, label %loop, label %done
; CHECK-EMPTY:
; CHECK-NEXT: done: ; preds = %loop
; CHECK-NEXT: store i8 %s2, ptr addrspace(1) %to, align 1
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define ptx_kernel void @once(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to) {
; CHECK-NEXT: begin:
; CHECK-NEXT: %x0 = load i8, ptr addrspace(1) %from, align 16
; CHECK-NEXT: %a1 = getelementptr i8, ptr addrspace(1) %from, i64 1
; CHECK-NEXT: %x1 = load i8, ptr addrspace(1) %a1, align 1
; CHECK-NEXT: %a2 = getelementptr i8, ptr addrspace(1) %from, i64 2
; CHECK-NEXT: %x2 = load i8, ptr addrspace(1) %a2, align 1
; CHECK-NEXT: %a3 = getelementptr i8, ptr addrspace(1) %from, i64 3
; CHECK-NEXT: %x3 = load i8, ptr addrspace(1) %a3, align 1
; CHECK-NEXT: %s1 = xor i8 %x0, %x1
; CHECK-NEXT: %s2 = xor i8 %s1, %x2
; CHECK-NEXT: %s3 = xor i8 %s2, %x3
; CHECK-NEXT: br label %loop
; CHECK-EMPTY:
; CHECK-NEXT: loop: ; preds = %loop, %begin
; CHECK-NEXT: %k = phi i8 [ %s3, %begin ], [ %next, %loop ]
; CHECK-NEXT: %next = lshr i8 %k, 1
; CHECK-NEXT: %more = icmp ne i8 %next, 0
; CHECK-NEXT: br i1 %more, label %loop, label %done
; CHECK-EMPTY:
; CHECK-NEXT: done: ; preds = %loop
; CHECK-NEXT: store i8 %s3, ptr addrspace(1) %to, align 1
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
