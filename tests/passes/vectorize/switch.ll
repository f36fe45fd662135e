; A `switch` that work-items take each for themselves: the results are chosen lane by lane.
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
  %v = load i32, ptr %p, align 4
  switch i32 %v, label %other [
    i32 1, label %one
    i32 2, label %two
    i32 7, label %two
  ]
one:
  %a = mul i32 %v, 5
  br label %join
two:
  %b = xor i32 %v, 9
  br label %join
other:
  br label %join
join:
  %w = phi i32 [ %a, %one ], [ %b, %two ], [ 4, %other ]
  %q = getelementptr i32, ptr %out, i64 %x
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
; CHECK: icmp eq <8 x i32> %{{.*}}, splat (i32 2)
; CHECK: icmp eq <8 x i32> %{{.*}}, splat (i32 7)
; CHECK: or <8 x i1>
; CHECK: select <8 x i1> {{.*}}, <8 x i32>
; CHECK: store <8 x i32>
