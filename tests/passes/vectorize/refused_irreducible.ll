; A loop with two entries stays as it is.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p
  %c = icmp sgt i32 %v, 7
  br i1 %c, label %one, label %two
one:
  %a = phi i32 [ %v, %item ], [ %b, %two ]
  store volatile i32 %a, ptr %out
  %d = icmp sgt i32 %a, 100
  br i1 %d, label %next, label %two
two:
  %b = phi i32 [ 3, %item ], [ %a, %one ]
  store i32 %b, ptr %p
  br label %one
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK-NOT: vector.loop
; CHECK: kernel: not vectorised: control flow is irreducible
