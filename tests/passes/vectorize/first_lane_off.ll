; The first work-item computes an address that it does not use, and breaks a promise: the address of all
; lanes is computed of its, so it promises nothing.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr inbounds nuw i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %even = shl i64 %x, 1
  %before = sub nuw i64 %even, 6
  %q = getelementptr inbounds nuw i64, ptr %out, i64 %before
  %q.odd = getelementptr inbounds nuw i8, ptr %q, i64 8
  %is = icmp sgt i32 %v, 5
  br i1 %is, label %then, label %next
then:
  store i32 %v, ptr %q.odd, align 4
  br label %next
next:
  %x.after = add nuw nsw i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK-NOT: inbounds
; CHECK: masked.scatter
