; A loop of twelve loads in blocks of 256 work-items gets bounds. One of three does not, nor one in blocks that leave no choice, or of a
; size that is not known. So does a block with seventeen loads.
; CHECK: @many(ptr addrspace(1) %p, i64 %count) #0
; CHECK: @few(ptr addrspace(1) %p, i64 %count) #1
; CHECK: @large(ptr addrspace(1) %p, i64 %count) #2
; CHECK: @unknown(
; CHECK: @straight(ptr addrspace(1) %p) #0
; CHECK: attributes #0 = { "nvvm.maxntid"="32,8,1" "nvvm.minctasm"="4" "schism.block"="32,8,1" }
; CHECK: attributes #1 = { "schism.block"="32,8,1" }
; CHECK: attributes #2 = { "schism.block"="32,32,1" }
define ptx_kernel void @many(ptr addrspace(1) %p, i64 %count) #0 {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %s11, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i64 %k
  %a0 = getelementptr float, ptr addrspace(1) %at, i64 0
  %x0 = load float, ptr addrspace(1) %a0, align 4
  %a1 = getelementptr float, ptr addrspace(1) %at, i64 1
  %x1 = load float, ptr addrspace(1) %a1, align 4
  %a2 = getelementptr float, ptr addrspace(1) %at, i64 2
  %x2 = load float, ptr addrspace(1) %a2, align 4
  %a3 = getelementptr float, ptr addrspace(1) %at, i64 3
  %x3 = load float, ptr addrspace(1) %a3, align 4
  %a4 = getelementptr float, ptr addrspace(1) %at, i64 4
  %x4 = load float, ptr addrspace(1) %a4, align 4
  %a5 = getelementptr float, ptr addrspace(1) %at, i64 5
  %x5 = load float, ptr addrspace(1) %a5, align 4
  %a6 = getelementptr float, ptr addrspace(1) %at, i64 6
  %x6 = load float, ptr addrspace(1) %a6, align 4
  %a7 = getelementptr float, ptr addrspace(1) %at, i64 7
  %x7 = load float, ptr addrspace(1) %a7, align 4
  %a8 = getelementptr float, ptr addrspace(1) %at, i64 8
  %x8 = load float, ptr addrspace(1) %a8, align 4
  %a9 = getelementptr float, ptr addrspace(1) %at, i64 9
  %x9 = load float, ptr addrspace(1) %a9, align 4
  %a10 = getelementptr float, ptr addrspace(1) %at, i64 10
  %x10 = load float, ptr addrspace(1) %a10, align 4
  %a11 = getelementptr float, ptr addrspace(1) %at, i64 11
  %x11 = load float, ptr addrspace(1) %a11, align 4
  %s0 = fadd float %sum, %x0
  %s1 = fadd float %s0, %x1
  %s2 = fadd float %s1, %x2
  %s3 = fadd float %s2, %x3
  %s4 = fadd float %s3, %x4
  %s5 = fadd float %s4, %x5
  %s6 = fadd float %s5, %x6
  %s7 = fadd float %s6, %x7
  %s8 = fadd float %s7, %x8
  %s9 = fadd float %s8, %x9
  %s10 = fadd float %s9, %x10
  %s11 = fadd float %s10, %x11
  %k.next = add i64 %k, 12
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  store float %s11, ptr addrspace(1) %p, align 4
  ret void
}
define ptx_kernel void @few(ptr addrspace(1) %p, i64 %count) #0 {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %s2, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i64 %k
  %a0 = getelementptr float, ptr addrspace(1) %at, i64 0
  %x0 = load float, ptr addrspace(1) %a0, align 4
  %a1 = getelementptr float, ptr addrspace(1) %at, i64 1
  %x1 = load float, ptr addrspace(1) %a1, align 4
  %a2 = getelementptr float, ptr addrspace(1) %at, i64 2
  %x2 = load float, ptr addrspace(1) %a2, align 4
  %s0 = fadd float %sum, %x0
  %s1 = fadd float %s0, %x1
  %s2 = fadd float %s1, %x2
  %k.next = add i64 %k, 3
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  store float %s2, ptr addrspace(1) %p, align 4
  ret void
}
define ptx_kernel void @large(ptr addrspace(1) %p, i64 %count) #1 {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %s11, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i64 %k
  %a0 = getelementptr float, ptr addrspace(1) %at, i64 0
  %x0 = load float, ptr addrspace(1) %a0, align 4
  %a1 = getelementptr float, ptr addrspace(1) %at, i64 1
  %x1 = load float, ptr addrspace(1) %a1, align 4
  %a2 = getelementptr float, ptr addrspace(1) %at, i64 2
  %x2 = load float, ptr addrspace(1) %a2, align 4
  %a3 = getelementptr float, ptr addrspace(1) %at, i64 3
  %x3 = load float, ptr addrspace(1) %a3, align 4
  %a4 = getelementptr float, ptr addrspace(1) %at, i64 4
  %x4 = load float, ptr addrspace(1) %a4, align 4
  %a5 = getelementptr float, ptr addrspace(1) %at, i64 5
  %x5 = load float, ptr addrspace(1) %a5, align 4
  %a6 = getelementptr float, ptr addrspace(1) %at, i64 6
  %x6 = load float, ptr addrspace(1) %a6, align 4
  %a7 = getelementptr float, ptr addrspace(1) %at, i64 7
  %x7 = load float, ptr addrspace(1) %a7, align 4
  %a8 = getelementptr float, ptr addrspace(1) %at, i64 8
  %x8 = load float, ptr addrspace(1) %a8, align 4
  %a9 = getelementptr float, ptr addrspace(1) %at, i64 9
  %x9 = load float, ptr addrspace(1) %a9, align 4
  %a10 = getelementptr float, ptr addrspace(1) %at, i64 10
  %x10 = load float, ptr addrspace(1) %a10, align 4
  %a11 = getelementptr float, ptr addrspace(1) %at, i64 11
  %x11 = load float, ptr addrspace(1) %a11, align 4
  %s0 = fadd float %sum, %x0
  %s1 = fadd float %s0, %x1
  %s2 = fadd float %s1, %x2
  %s3 = fadd float %s2, %x3
  %s4 = fadd float %s3, %x4
  %s5 = fadd float %s4, %x5
  %s6 = fadd float %s5, %x6
  %s7 = fadd float %s6, %x7
  %s8 = fadd float %s7, %x8
  %s9 = fadd float %s8, %x9
  %s10 = fadd float %s9, %x10
  %s11 = fadd float %s10, %x11
  %k.next = add i64 %k, 12
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  store float %s11, ptr addrspace(1) %p, align 4
  ret void
}
define ptx_kernel void @unknown(ptr addrspace(1) %p, i64 %count)  {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %s11, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i64 %k
  %a0 = getelementptr float, ptr addrspace(1) %at, i64 0
  %x0 = load float, ptr addrspace(1) %a0, align 4
  %a1 = getelementptr float, ptr addrspace(1) %at, i64 1
  %x1 = load float, ptr addrspace(1) %a1, align 4
  %a2 = getelementptr float, ptr addrspace(1) %at, i64 2
  %x2 = load float, ptr addrspace(1) %a2, align 4
  %a3 = getelementptr float, ptr addrspace(1) %at, i64 3
  %x3 = load float, ptr addrspace(1) %a3, align 4
  %a4 = getelementptr float, ptr addrspace(1) %at, i64 4
  %x4 = load float, ptr addrspace(1) %a4, align 4
  %a5 = getelementptr float, ptr addrspace(1) %at, i64 5
  %x5 = load float, ptr addrspace(1) %a5, align 4
  %a6 = getelementptr float, ptr addrspace(1) %at, i64 6
  %x6 = load float, ptr addrspace(1) %a6, align 4
  %a7 = getelementptr float, ptr addrspace(1) %at, i64 7
  %x7 = load float, ptr addrspace(1) %a7, align 4
  %a8 = getelementptr float, ptr addrspace(1) %at, i64 8
  %x8 = load float, ptr addrspace(1) %a8, align 4
  %a9 = getelementptr float, ptr addrspace(1) %at, i64 9
  %x9 = load float, ptr addrspace(1) %a9, align 4
  %a10 = getelementptr float, ptr addrspace(1) %at, i64 10
  %x10 = load float, ptr addrspace(1) %a10, align 4
  %a11 = getelementptr float, ptr addrspace(1) %at, i64 11
  %x11 = load float, ptr addrspace(1) %a11, align 4
  %s0 = fadd float %sum, %x0
  %s1 = fadd float %s0, %x1
  %s2 = fadd float %s1, %x2
  %s3 = fadd float %s2, %x3
  %s4 = fadd float %s3, %x4
  %s5 = fadd float %s4, %x5
  %s6 = fadd float %s5, %x6
  %s7 = fadd float %s6, %x7
  %s8 = fadd float %s7, %x8
  %s9 = fadd float %s8, %x9
  %s10 = fadd float %s9, %x10
  %s11 = fadd float %s10, %x11
  %k.next = add i64 %k, 12
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  store float %s11, ptr addrspace(1) %p, align 4
  ret void
}
define ptx_kernel void @straight(ptr addrspace(1) %p) #0 {
  %a0 = getelementptr float, ptr addrspace(1) %p, i64 0
  %x0 = load float, ptr addrspace(1) %a0, align 4
  %a1 = getelementptr float, ptr addrspace(1) %p, i64 1
  %x1 = load float, ptr addrspace(1) %a1, align 4
  %a2 = getelementptr float, ptr addrspace(1) %p, i64 2
  %x2 = load float, ptr addrspace(1) %a2, align 4
  %a3 = getelementptr float, ptr addrspace(1) %p, i64 3
  %x3 = load float, ptr addrspace(1) %a3, align 4
  %a4 = getelementptr float, ptr addrspace(1) %p, i64 4
  %x4 = load float, ptr addrspace(1) %a4, align 4
  %a5 = getelementptr float, ptr addrspace(1) %p, i64 5
  %x5 = load float, ptr addrspace(1) %a5, align 4
  %a6 = getelementptr float, ptr addrspace(1) %p, i64 6
  %x6 = load float, ptr addrspace(1) %a6, align 4
  %a7 = getelementptr float, ptr addrspace(1) %p, i64 7
  %x7 = load float, ptr addrspace(1) %a7, align 4
  %a8 = getelementptr float, ptr addrspace(1) %p, i64 8
  %x8 = load float, ptr addrspace(1) %a8, align 4
  %a9 = getelementptr float, ptr addrspace(1) %p, i64 9
  %x9 = load float, ptr addrspace(1) %a9, align 4
  %a10 = getelementptr float, ptr addrspace(1) %p, i64 10
  %x10 = load float, ptr addrspace(1) %a10, align 4
  %a11 = getelementptr float, ptr addrspace(1) %p, i64 11
  %x11 = load float, ptr addrspace(1) %a11, align 4
  %a12 = getelementptr float, ptr addrspace(1) %p, i64 12
  %x12 = load float, ptr addrspace(1) %a12, align 4
  %a13 = getelementptr float, ptr addrspace(1) %p, i64 13
  %x13 = load float, ptr addrspace(1) %a13, align 4
  %a14 = getelementptr float, ptr addrspace(1) %p, i64 14
  %x14 = load float, ptr addrspace(1) %a14, align 4
  %a15 = getelementptr float, ptr addrspace(1) %p, i64 15
  %x15 = load float, ptr addrspace(1) %a15, align 4
  %a16 = getelementptr float, ptr addrspace(1) %p, i64 16
  %x16 = load float, ptr addrspace(1) %a16, align 4
  %s1 = fadd float %x0, %x1
  %s2 = fadd float %s1, %x2
  %s3 = fadd float %s2, %x3
  %s4 = fadd float %s3, %x4
  %s5 = fadd float %s4, %x5
  %s6 = fadd float %s5, %x6
  %s7 = fadd float %s6, %x7
  %s8 = fadd float %s7, %x8
  %s9 = fadd float %s8, %x9
  %s10 = fadd float %s9, %x10
  %s11 = fadd float %s10, %x11
  %s12 = fadd float %s11, %x12
  %s13 = fadd float %s12, %x13
  %s14 = fadd float %s13, %x14
  %s15 = fadd float %s14, %x15
  %s16 = fadd float %s15, %x16
  store float %s16, ptr addrspace(1) %p, align 4
  ret void
}
attributes #0 = { "schism.block"="32,8,1" }
attributes #1 = { "schism.block"="32,32,1" }
