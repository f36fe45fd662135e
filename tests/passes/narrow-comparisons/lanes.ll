; Which half of a part of the group a work-item is in, and how long a row is.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define i1 @lane() {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wide = zext nneg i32 %tid to i64
  %lane = and i64 %wide, 31
  %is.lower = icmp samesign ult i64 %lane, 16
  ret i1 %is.lower
}
define i1 @row(i32 %begin.32, i32 %end.32, i16 %k.16) {
  %begin = zext i32 %begin.32 to i64
  %end = zext i32 %end.32 to i64
  %k = zext i16 %k.16 to i64
  %n = sub nuw nsw i64 %end, %begin
  %goes.on = icmp slt i64 %k, %n
  ret i1 %goes.on
}
; Of a difference that may wrap, and of a number of 64 bits, the upper halves count.
define i1 @wraps(i32 %begin.32, i32 %end.32) {
  %begin = zext i32 %begin.32 to i64
  %end = zext i32 %end.32 to i64
  %n = sub nsw i64 %end, %begin
  %is.small = icmp ult i64 %n, 100
  ret i1 %is.small
}
define i1 @long(i64 %k, i32 %n.32) {
  %n = zext i32 %n.32 to i64
  %goes.on = icmp ult i64 %k, %n
  ret i1 %goes.on
}
; CHECK: @lane
; CHECK: %1 = and i32 %tid, 31
; CHECK: icmp ult i32 %1, 16
; CHECK: @row
; CHECK: %1 = zext i16 %k.16 to i32
; CHECK: %2 = sub i32 %end.32, %begin.32
; CHECK: icmp ult i32 %1, %2
; CHECK: @wraps
; CHECK: icmp ult i64 %n, 100
; CHECK: @long
; CHECK: icmp ult i64 %k, %n
; With what branches say: the end is not in front of the begin, and not behind the slice's.
define i1 @branches(i64 "schism.narrow" %len, i32 %begin.32, i32 %end.32) {
entry:
  %begin = zext i32 %begin.32 to i64
  %end = zext i32 %end.32 to i64
  %in.order = icmp uge i32 %end.32, %begin.32
  %inside = icmp uge i64 %len, %end
  %all = select i1 %in.order, i1 %inside, i1 false
  br i1 %all, label %well, label %ill
well:
  %n = sub nsw i64 %end, %begin
  %is.small = icmp ult i64 %n, %len
  ret i1 %is.small
ill:
  ret i1 false
}
; CHECK: @branches
; CHECK: icmp uge i32 %0, %end.32
; CHECK: icmp ult i32 %2, %0
; An id, and a number that all work-items have in common: one without 32 bits is above all ids.
declare i64 @llvm.spv.thread.id.i64(i32)
define i1 @last_column(i64 "schism.narrow" %side) {
  %column = call i64 @llvm.spv.thread.id.i64(i32 0) #0
  %last = add nsw i64 %side, -1
  %is.last = icmp eq i64 %last, %column
  ret i1 %is.last
}
define i1 @first_column() {
  %column = call i64 @llvm.spv.thread.id.i64(i32 0) #0
  %is.first = icmp ne i64 %column, 0
  ret i1 %is.first
}
define i1 @inside(i64 %n) {
  %id = call i16 @lane.16()
  %k = zext i16 %id to i64
  %is.inside = icmp uge i64 %k, %n
  ret i1 %is.inside
}
declare i16 @lane.16()
; A driver ends its loop where the id reaches the limit. Signed, a number of 64 bits may be below all.
define i1 @limit(i64 "schism.narrow" %n) {
  %column = call i64 @llvm.spv.thread.id.i64(i32 0) #0
  %is.inside = icmp ult i64 %column, %n
  ret i1 %is.inside
}
define i1 @signed(i64 %n) {
  %id = call i16 @lane.16()
  %k = zext i16 %id to i64
  %is.inside = icmp slt i64 %k, %n
  ret i1 %is.inside
}
; 2³² - 1 is not below itself.
define i1 @full(i64 %n) {
  %id = call i32 @lane.32()
  %k = zext i32 %id to i64
  %is.inside = icmp ult i64 %k, %n
  ret i1 %is.inside
}
declare i32 @lane.32()
attributes #0 = { "schism.narrow" }
; CHECK: @last_column
; CHECK: %1 = trunc i64 %column to i32
; CHECK: %2 = icmp ugt i64 %last, 4294967295
; CHECK: %3 = trunc i64 %last to i32
; CHECK: %4 = select i1 %2, i32 -1, i32 %3
; CHECK: icmp eq i32 %4, %1
; CHECK: @first_column
; CHECK: %1 = trunc i64 %column to i32
; CHECK: icmp ne i32 %1, 0
; CHECK: @inside
; CHECK: select i1 %1, i32 -1, i32 %2
; CHECK: icmp uge i32 %4, %3
; CHECK: @limit
; CHECK: icmp ult i64 %column, %n
; CHECK: @signed
; CHECK: icmp slt i64 %k, %n
; CHECK: @full
; CHECK: icmp ult i64 %k, %n
