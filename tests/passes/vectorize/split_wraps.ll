; What is compared may wrap: the condition holds for work-items at both ends, so it stays.
; SPEC lanes: 256 8
define void @kernel(ptr %at, i64 %shift, i64 %half, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %local = add i64 %x, %shift
  %is = icmp ult i64 %local, %half
  br i1 %is, label %add, label %next
add:
  %p = getelementptr i32, ptr %at, i64 %x
  %v = load i32, ptr %p, align 4
  %root = udiv i32 7, %v
  store i32 %root, ptr %p, align 4
  br label %next
next:
  %x.after = add nuw nsw i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK-NOT: %split
; CHECK: vector.loop:
; CHECK: masked
; CHECK-NOT: %split
; CHECK: kernel: vectorised: 8 lanes
