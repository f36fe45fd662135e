; Every 32nd element of a row whose end is inside of a slice, as a branch in front of the loop says.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i64 @llvm.spv.thread.id.i64(i32)
declare void @use(i64)
define void @lanes(ptr %rows, i64 "schism.narrow" %len) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = zext nneg i32 %tid to i64
  %lane = and i64 %place, 31
  %at = getelementptr i32, ptr %rows, i64 %place
  %end.32 = load i32, ptr %at
  %end = zext i32 %end.32 to i64
  %fails = icmp ult i64 %len, %end
  br i1 %fails, label %out, label %loop
loop:
  %k = phi i64 [ %lane, %entry ], [ %next, %loop ]
  call void @use(i64 %k)
  %next = add i64 %k, 32
  %goes.on = icmp ult i64 %next, %end
  br i1 %goes.on, label %loop, label %out
out:
  ret void
}
; Nothing says of the end that 32 can be added.
define void @unknown(ptr %rows) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = zext nneg i32 %tid to i64
  %lane = and i64 %place, 31
  %at = getelementptr i32, ptr %rows, i64 %place
  %end.32 = load i32, ptr %at
  %end = zext i32 %end.32 to i64
  br label %loop
loop:
  %k = phi i64 [ %lane, %entry ], [ %next, %loop ]
  call void @use(i64 %k)
  %next = add i64 %k, 32
  %goes.on = icmp ult i64 %next, %end
  br i1 %goes.on, label %loop, label %out
out:
  ret void
}
; Neighbours count neighbouring numbers.
define void @neighbours(i64 "schism.narrow" %n) {
entry:
  %place = call i64 @llvm.spv.thread.id.i64(i32 0) "schism.narrow"
  br label %loop
loop:
  %k = phi i64 [ %place, %entry ], [ %next, %loop ]
  call void @use(i64 %k)
  %next = add i64 %k, 1024
  %goes.on = icmp ult i64 %next, %n
  br i1 %goes.on, label %loop, label %out
out:
  ret void
}
; CHECK: @lanes
; CHECK: %0 = and i32 %tid, 31
; CHECK: %1 = phi i32 [ %0, %entry ], [ %3, %loop ]
; CHECK: zext i32 %1 to i64
; CHECK: %3 = add i32 %1, 32
; CHECK: @unknown
; CHECK: %k = phi i64
; CHECK: @neighbours
; CHECK: %k = phi i64
