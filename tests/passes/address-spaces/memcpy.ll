; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: kernel entry 0 1
; Copies between memories.
@text = internal constant [64 x i8] zeroinitializer
define void @kernel(ptr %to, i64 %n) {
  %local = alloca [64 x i8]
  call void @llvm.lifetime.start.p0(ptr %local)
  call void @llvm.memcpy.p0.p0.i64(ptr %local, ptr @text, i64 %n, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %local, i64 %n, i1 false)
  %after = getelementptr i8, ptr %to, i64 64
  call void @llvm.memset.p0.i64(ptr %after, i8 0, i64 %n, i1 false)
  call void @llvm.lifetime.end.p0(ptr %local)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
; CHECK: %local = alloca [64 x i8]{{.*}}addrspace(5)
; CHECK-NEXT: call void @llvm.lifetime.start.p5(ptr addrspace(5) %local)
; CHECK-NEXT: call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) align 1 %local, ptr addrspace(4) @text, i64 %n, i1 false)
; CHECK-NEXT: call void @llvm.memcpy.p1.p5.i64(ptr addrspace(1) %to, ptr addrspace(5) align 1 %local, i64 %n, i1 false)
; CHECK-NEXT: %after = getelementptr i8, ptr addrspace(1) %to, i64 64
; CHECK-NEXT: call void @llvm.memset.p1.i64(ptr addrspace(1) %after, i8 0, i64 %n, i1 false)
; CHECK-NEXT: call void @llvm.lifetime.end.p5(ptr addrspace(5) %local)
