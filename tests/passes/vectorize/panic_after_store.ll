; What was stored cannot be taken back, and is not done twice.
; SPEC lanes: 256 8
declare void @schism.panic(i64) cold
define void @kernel(ptr %in, ptr %out, i64 %len, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %q = getelementptr i32, ptr %out, i64 %x
  %old = load i32, ptr %q, align 4
  %new = add i32 %old, 1
  store i32 %new, ptr %q, align 4
  %index = zext i32 %old to i64
  %inside = icmp ult i64 %index, %len
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
; CHECK-NOT: vector.loop
; CHECK: kernel: not vectorised: it has a panic after a store
