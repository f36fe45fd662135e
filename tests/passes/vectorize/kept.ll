; No copy is expanded.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Copies stay: of other memory, of memory that is accessed in two sizes or whose address goes elsewhere, of many elements, and of parts of one.
define float @stay(ptr %from, ptr %to, i64 %k) {
  %two = alloca [4 x i32]
  %gone = alloca [4 x i32]
  %many = alloca [64 x float]
  %part = alloca [4 x float]
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %two, ptr %from, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %gone, ptr %from, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %many, ptr %from, i64 256, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %part, ptr %from, i64 15, i1 false)
  %byte.at = getelementptr i8, ptr %two, i64 %k
  %byte = load i8, ptr %byte.at
  %word = load i32, ptr %two
  store ptr %gone, ptr %to
  %one = load i32, ptr %gone
  %many.at = getelementptr float, ptr %many, i64 %k
  %a = load float, ptr %many.at
  %b = load float, ptr %part
  %sum = fadd float %a, %b
  ret float %sum
}

; BLESS: the output, line by line
; CHECK: target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; CHECK-EMPTY:
; CHECK-NEXT: ; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
; CHECK-NEXT: declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #0
; CHECK-EMPTY:
; CHECK-NEXT: define float @stay(ptr %from, ptr %to, i64 %k) {
; CHECK-NEXT: %two = alloca [4 x i32], align 4
; CHECK-NEXT: %gone = alloca [4 x i32], align 4
; CHECK-NEXT: %many = alloca [64 x float], align 4
; CHECK-NEXT: %part = alloca [4 x float], align 4
; CHECK-NEXT: call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 16, i1 false)
; CHECK-NEXT: call void @llvm.memcpy.p0.p0.i64(ptr %two, ptr %from, i64 16, i1 false)
; CHECK-NEXT: call void @llvm.memcpy.p0.p0.i64(ptr %gone, ptr %from, i64 16, i1 false)
; CHECK-NEXT: call void @llvm.memcpy.p0.p0.i64(ptr %many, ptr %from, i64 256, i1 false)
; CHECK-NEXT: call void @llvm.memcpy.p0.p0.i64(ptr %part, ptr %from, i64 15, i1 false)
; CHECK-NEXT: %byte.at = getelementptr i8, ptr %two, i64 %k
; CHECK-NEXT: %byte = load i8, ptr %byte.at, align 1
; CHECK-NEXT: %word = load i32, ptr %two, align 4
; CHECK-NEXT: store ptr %gone, ptr %to, align 8
; CHECK-NEXT: %one = load i32, ptr %gone, align 4
; CHECK-NEXT: %many.at = getelementptr float, ptr %many, i64 %k
; CHECK-NEXT: %a = load float, ptr %many.at, align 4
; CHECK-NEXT: %b = load float, ptr %part, align 4
; CHECK-NEXT: %sum = fadd float %a, %b
; CHECK-NEXT: ret float %sum
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
; CHECK-NEXT: end of violations
