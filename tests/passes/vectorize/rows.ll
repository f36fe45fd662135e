; Rows of a private matrix are exchanged through another array, which is only copied.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define double @exchange(i64 %a, i64 %b) {
  %rows = alloca [4 x [2 x double]]
  %row = alloca [2 x double]
  %a.at = getelementptr [2 x double], ptr %rows, i64 %a
  %b.at = getelementptr [2 x double], ptr %rows, i64 %b
  call void @llvm.memset.p0.i64(ptr align 8 %rows, i8 0, i64 64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %row, ptr align 8 %a.at, i64 16, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 8 %a.at, ptr align 8 %b.at, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %b.at, ptr align 4 %row, i64 16, i1 false)
  %first = load double, ptr %rows
  ret double %first
}
; CHECK: @exchange
; CHECK: %1 = load double, ptr %a.at, align 8
; CHECK: %2 = getelementptr i8, ptr %a.at, i64 8
; CHECK: %3 = load double, ptr %2, align 8
; CHECK: store double %1, ptr %row, align 8
; CHECK: load double, ptr %b.at, align 8
; CHECK: load double, ptr
; CHECK: store double
; CHECK: load double, ptr %row, align 4
; CHECK-NOT: call void @llvm.memcpy
