; A short fill is a store of each element.
; CHECK: alloca [3 x float], align 4, addrspace(5)
; CHECK-NOT: memset
; CHECK: store float 0.000000e+00, ptr addrspace(5) %1, align 4
; CHECK: getelementptr [3 x float], ptr addrspace(5) %1, i64 0, i64 1
; CHECK: store float 0.000000e+00
; CHECK: getelementptr [3 x float], ptr addrspace(5) %1, i64 0, i64 2
; CHECK: store float 0.000000e+00
target datalayout = "e-p:64:64-i64:64-n8:16:32:64-A5"

define void @k(ptr addrspace(1) %to, i64 %j) {
  %sums = alloca [12 x i8], align 4, addrspace(5)
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 4 %sums, i8 0, i64 12, i1 false)
  %at = getelementptr inbounds float, ptr addrspace(5) %sums, i64 %j
  %sum = load float, ptr addrspace(5) %at, align 4
  store float %sum, ptr addrspace(1) %to, align 4
  ret void
}

declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
