; An element of a row that begins where a number that was loaded says: of a slice.
declare i64 @llvm.spv.thread.id.i64(i32)
define float @row(ptr addrspace(1) "schism.slice"="0:4" %x, i64 "schism.length"="0" "schism.narrow" %len, ptr addrspace(1) %rows, i64 %k) {
  %place = call i64 @llvm.spv.thread.id.i64(i32 0)
  %begin.at = getelementptr i32, ptr addrspace(1) %rows, i64 %place
  %begin.32 = load i32, ptr addrspace(1) %begin.at
  %begin = zext i32 %begin.32 to i64
  %bytes = shl nuw nsw i64 %begin, 2
  %row = getelementptr inbounds nuw i8, ptr addrspace(1) %x, i64 %bytes
  %at = getelementptr inbounds float, ptr addrspace(1) %row, i64 %k
  %before.at = getelementptr inbounds i8, ptr addrspace(1) %at, i64 -4
  %element = load float, ptr addrspace(1) %at
  %before = load float, ptr addrspace(1) %before.at
  %sum = fadd float %element, %before
  ret float %sum
}
; Elements of 12 bytes, of which the second part is loaded.
define float @part(ptr addrspace(1) "schism.slice"="0:12" %x, i64 "schism.length"="0" "schism.narrow" %len, ptr addrspace(1) %rows, i64 %k) {
  %place = call i64 @llvm.spv.thread.id.i64(i32 0)
  %begin.at = getelementptr i32, ptr addrspace(1) %rows, i64 %place
  %begin.32 = load i32, ptr addrspace(1) %begin.at
  %begin = zext i32 %begin.32 to i64
  %sum = add i64 %begin, %k
  %at = getelementptr { float, float, float }, ptr addrspace(1) %x, i64 %sum
  %part = getelementptr i8, ptr addrspace(1) %at, i64 4
  %element = load float, ptr addrspace(1) %part
  ret float %element
}
; The row of a work-item, which is below 2^26; what is next to it needs no index of its own.
define void @short(ptr addrspace(1) %y, float %value) {
  %place = call i64 @llvm.spv.thread.id.i64(i32 0) "schism.narrow"
  %row = lshr i64 %place, 5
  %at = getelementptr float, ptr addrspace(1) %y, i64 %row
  %next = getelementptr i8, ptr addrspace(1) %at, i64 4
  store float %value, ptr addrspace(1) %next
  ret void
}
; Neighbouring elements; an index of which nothing is known; a slice of which nothing is known.
define void @neighbours(ptr addrspace(1) "schism.slice"="0:4" %x, i64 "schism.length"="0" "schism.narrow" %len, i64 %k) {
  %place = call i64 @llvm.spv.thread.id.i64(i32 0) "schism.narrow"
  %sum = add i64 %place, %k
  %at = getelementptr float, ptr addrspace(1) %x, i64 %sum
  store float 0.0, ptr addrspace(1) %at
  ret void
}
define void @unknown(ptr addrspace(1) %y, i64 %k) {
  %place = call i64 @llvm.spv.thread.id.i64(i32 0) "schism.narrow"
  %row = lshr i64 %place, 5
  %sum = add i64 %row, %k
  %at = getelementptr float, ptr addrspace(1) %y, i64 %sum
  store float 0.0, ptr addrspace(1) %at
  ret void
}
define void @long(ptr addrspace(1) "schism.slice"="0:4" %x, i64 "schism.length"="0" %len, i64 %k) {
  %place = call i64 @llvm.spv.thread.id.i64(i32 0) "schism.narrow"
  %row = lshr i64 %place, 5
  %sum = add i64 %row, %k
  %at = getelementptr float, ptr addrspace(1) %x, i64 %sum
  store float 0.0, ptr addrspace(1) %at
  ret void
}
; CHECK: @row
; CHECK: %1 = trunc i64 %k to i32
; CHECK: %2 = add i32 %1, %begin.32
; CHECK: %3 = sext i32 %2 to i64
; CHECK: %4 = getelementptr float, ptr addrspace(1) %x, i64 %3
; CHECK: %element = load float, ptr addrspace(1) %4
; CHECK: %5 = add i32 %1, %begin.32
; CHECK: %6 = add i32 %5, -1
; CHECK: %7 = sext i32 %6 to i64
; CHECK: %8 = getelementptr float, ptr addrspace(1) %x, i64 %7
; CHECK: %before = load float, ptr addrspace(1) %8
; CHECK: @part
; CHECK: getelementptr [12 x i8], ptr addrspace(1) %x, i64
; CHECK: getelementptr i8, ptr addrspace(1) %{{...}}, i64 4
; CHECK: @short
; CHECK: %1 = trunc i64 %place to i32
; CHECK: %2 = lshr i32 %1, 5
; CHECK: %3 = sext i32 %2 to i64
; CHECK: %4 = getelementptr float, ptr addrspace(1) %y, i64 %3
; CHECK: getelementptr i8, ptr addrspace(1) %4, i64 4
; CHECK: @neighbours
; CHECK: getelementptr float, ptr addrspace(1) %x, i64 %sum
; CHECK: @unknown
; CHECK: getelementptr float, ptr addrspace(1) %y, i64 %sum
; CHECK: @long
; CHECK: getelementptr float, ptr addrspace(1) %x, i64 %sum
