; An array with an index that is one of a few constants is in registers: a pivot, rows that are swapped by copies, an index by where the
; control flow came from, and any index of a small array.

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

define float @pivot(float %x, float %y, float %new, i1 %larger) {
  %rows = alloca [2 x float]
  store float %x, ptr %rows
  %second = getelementptr inbounds float, ptr %rows, i64 1
  store float %y, ptr %second
  %index = select i1 %larger, i64 1, i64 0
  %at = getelementptr inbounds float, ptr %rows, i64 %index
  %value = load float, ptr %at
  store float %new, ptr %at
  %a = load float, ptr %rows
  %b = load float, ptr %second
  %sum = fadd float %a, %b
  %result = fdiv float %sum, %value
  ret float %result
}
; CHECK: define float @pivot(
; CHECK-NOT: alloca
; CHECK: select i1 %larger, float %y, float %x
; CHECK: select i1 %larger, float %x, float %new
; CHECK: select i1 %larger, float %new, float %y
; CHECK: ret float

define double @swap(ptr %from, i64 %place, i1 %first, i1 %second) {
  %rows = alloca [3 x [2 x double]]
  %row = alloca [2 x double]
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %rows, ptr align 8 %from, i64 48, i1 false)
  %one = select i1 %first, i64 1, i64 0
  %pivot = select i1 %second, i64 2, i64 %one
  %at = getelementptr inbounds [2 x double], ptr %rows, i64 %pivot
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %row, ptr align 8 %rows, i64 16, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 8 %rows, ptr align 8 %at, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %at, ptr align 8 %row, i64 16, i1 false)
  %a = load double, ptr %rows
  %last.at = getelementptr inbounds double, ptr %rows, i64 5
  %last = load double, ptr %last.at
  %result = fsub double %a, %last
  ret double %result
}
; CHECK: define double @swap(
; CHECK-NOT: alloca
; CHECK-NOT: memmove
; CHECK: ret double

define i32 @joined(i32 %x, i32 %y, i32 %z, i1 %way) {
begin:
  %words = alloca [3 x i32]
  store i32 %x, ptr %words
  %1 = getelementptr inbounds i32, ptr %words, i64 1
  store i32 %y, ptr %1
  %2 = getelementptr inbounds i32, ptr %words, i64 2
  store i32 %z, ptr %2
  br i1 %way, label %left, label %right
left:
  br label %both
right:
  br label %both
both:
  %index = phi i32 [ 2, %left ], [ 1, %right ]
  %wide = zext i32 %index to i64
  %at = getelementptr inbounds i32, ptr %words, i64 %wide
  %word = load i32, ptr %at
  %first = load i32, ptr %words
  %result = xor i32 %word, %first
  ret i32 %result
}
; CHECK: define i32 @joined(
; CHECK-NOT: alloca
; CHECK: phi i32 [ %z, %left ], [ %y, %right ]
; CHECK: ret i32

define i32 @any(i32 %x, i32 %y, i64 %index) {
  %words = alloca [2 x i32]
  store i32 %x, ptr %words
  %1 = getelementptr inbounds i32, ptr %words, i64 1
  store i32 %y, ptr %1
  %at = getelementptr inbounds i32, ptr %words, i64 %index
  %word = load i32, ptr %at
  ret i32 %word
}
; CHECK: define i32 @any(
; CHECK-NOT: alloca
; CHECK: %1 = icmp eq i64 %index, 0
; CHECK: select i1 %1, i32 %x, i32 %y

; Bytes are written one by one, and read as a word.
define i16 @parts(i8 %x, i16 %all, i1 %high) {
  %bytes = alloca [2 x i8]
  store i16 %all, ptr %bytes, align 1
  %index = zext i1 %high to i64
  %at = getelementptr inbounds i8, ptr %bytes, i64 %index
  store i8 %x, ptr %at
  %result = load i16, ptr %bytes, align 1
  ret i16 %result
}
; CHECK: define i16 @parts(
; CHECK-NOT: alloca
; CHECK: ret i16
