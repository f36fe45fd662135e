; What is small, of unknown size or volatile, and what may overlap, stays as it is.
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
declare void @llvm.memmove.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)

define void @others(ptr addrspace(5) %at, ptr addrspace(5) %other, i64 %length, i8 %value) {
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 127, i1 false)
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 %length, i1 false)
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 1024, i1 true)
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 %value, i64 1024, i1 false)
  call void @llvm.memmove.p5.p5.i64(ptr addrspace(5) align 8 %at, ptr addrspace(5) align 8 %other, i64 1024, i1 false)
  ret void
}
; CHECK: define void @others
; CHECK-NEXT: call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 127, i1 false)
; CHECK-NEXT: call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 %length, i1 false)
; CHECK-NEXT: call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 1024, i1 true)
; CHECK-NEXT: call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 %value, i64 1024, i1 false)
; CHECK-NEXT: call void @llvm.memmove.p5.p5.i64(ptr addrspace(5) align 8 %at, ptr addrspace(5) align 8 %other, i64 1024, i1 false)
; CHECK-NEXT: ret void
