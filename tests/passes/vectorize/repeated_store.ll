; A store of what is computed of memory that nobody changes may be done twice.
; SPEC lanes: 256 8
declare void @schism.panic(i64) cold
define void @kernel(ptr noalias readonly %in, ptr %out, i64 %len, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %v, ptr %q, align 4
  %wide = sext i32 %v to i64
  %inside = icmp ult i64 %wide, %len
  br i1 %inside, label %next, label %panic
panic:
  call void @schism.panic(i64 %x)
  ret void
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: store <8 x i32>
; CHECK: label %vector.restart
