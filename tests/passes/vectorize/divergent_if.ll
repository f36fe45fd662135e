; A branch that work-items take each for themselves: its stores are masked, and the address that only
; some lanes compute promises nothing any more.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %n, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %is = icmp sgt i32 %v, 5
  br i1 %is, label %then, label %next
then:
  %before = sub nuw i64 %x, 1
  %q = getelementptr inbounds i32, ptr %out, i64 %before
  %w = mul nsw i32 %v, 3
  store i32 %w, ptr %q, align 4
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: load <8 x i32>
; CHECK: %is{{.*}} = icmp sgt <8 x i32>
; CHECK: br i1 {{.*}}, label %vector.some, label %vector.skip
; CHECK: vector.some:
; CHECK-NEXT: = getelementptr i32, ptr %out, i64 %vector.item
; CHECK-NEXT: = getelementptr i8, ptr {{.*}}, i64 -4
; CHECK-NEXT: = mul <8 x i32>
; CHECK: call void @llvm.masked.store.v8i32.p0(<8 x i32> {{.*}}, ptr align 4 {{.*}}, <8 x i1> %is
; CHECK: kernel: vectorised: 8 lanes
