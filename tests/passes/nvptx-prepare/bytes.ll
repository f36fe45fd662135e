; Bytes that a loop uses are loaded one by one, from an address of which LLVM knows nothing. Words are not, nor a few bytes, nor bytes that
; are used in the block that loads them.
define ptx_kernel void @bytes(ptr addrspace(1) noalias readonly align 16 %from, ptr addrspace(1) %to, i64 %count) {
begin:
  %a0 = getelementptr i8, ptr addrspace(1) %from, i64 0
  %x0 = load i8, ptr addrspace(1) %a0, align 16
  %a1 = getelementptr i8, ptr addrspace(1) %from, i64 1
  %x1 = load i8, ptr addrspace(1) %a1, align 1
  %a2 = getelementptr i8, ptr addrspace(1) %from, i64 2
  %x2 = load i8, ptr addrspace(1) %a2, align 1
  %a3 = getelementptr i8, ptr addrspace(1) %from, i64 3
  %x3 = load i8, ptr addrspace(1) %a3, align 1
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi i8 [ 0, %begin ], [ %s3, %loop ]
  %s0 = xor i8 %sum, %x0
  %s1 = xor i8 %s0, %x1
  %s2 = xor i8 %s1, %x2
  %s3 = xor i8 %s2, %x3
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  store i8 %s3, ptr addrspace(1) %to
  ret void
}
; CHECK: define ptx_kernel void @bytes
; CHECK: = call ptr addrspace(1) asm "mov.b64 $0, $1;", "=l,l"(ptr addrspace(1) %from)
; CHECK: = load i8, ptr addrspace(1) {{.*}}, align 1, !invariant.load
; CHECK: ret void

define ptx_kernel void @written(ptr addrspace(1)  align 16 %from, ptr addrspace(1) %to, i64 %count) {
begin:
  %a0 = getelementptr i8, ptr addrspace(1) %from, i64 0
  %x0 = load i8, ptr addrspace(1) %a0, align 16
  %a1 = getelementptr i8, ptr addrspace(1) %from, i64 1
  %x1 = load i8, ptr addrspace(1) %a1, align 1
  %a2 = getelementptr i8, ptr addrspace(1) %from, i64 2
  %x2 = load i8, ptr addrspace(1) %a2, align 1
  %a3 = getelementptr i8, ptr addrspace(1) %from, i64 3
  %x3 = load i8, ptr addrspace(1) %a3, align 1
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi i8 [ 0, %begin ], [ %s3, %loop ]
  %s0 = xor i8 %sum, %x0
  %s1 = xor i8 %s0, %x1
  %s2 = xor i8 %s1, %x2
  %s3 = xor i8 %s2, %x3
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  store i8 %s3, ptr addrspace(1) %to
  ret void
}
; CHECK: define ptx_kernel void @written
; CHECK: = call ptr addrspace(1) asm "mov.b64 $0, $1;", "=l,l"(ptr addrspace(1) %from)
; CHECK-NOT: !invariant.load
; CHECK: ret void
