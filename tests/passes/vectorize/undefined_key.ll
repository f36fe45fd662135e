; The smallest key so far, and its item, as one iteration after the other finds them: without an item, the key
; is not defined. It differs from work-item to work-item nevertheless.
; SPEC lanes: 512 8
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %row = mul i64 %x, 8000
  %first = getelementptr i8, ptr %in, i64 %row
  %behind = getelementptr i8, ptr %first, i64 8000
  br label %inner
inner:
  %key = phi i64 [ %key.next, %inner ], [ undef, %item ]
  %best = phi ptr [ %best.next, %inner ], [ null, %item ]
  %at = phi ptr [ %at.next, %inner ], [ %first, %item ]
  %at.next = getelementptr i8, ptr %at, i64 8
  %value = load i64, ptr %at, align 8
  %rest = urem i64 %value, 7
  %is.first = icmp eq ptr %best, null
  %is.less = icmp ugt i64 %key, %rest
  %least = call i64 @llvm.umin.i64(i64 %key, i64 %rest)
  %key.next = select i1 %is.first, i64 %rest, i64 %least
  %is.new = select i1 %is.first, i1 true, i1 %is.less
  %best.next = select i1 %is.new, ptr %at, ptr %best
  %done = icmp eq ptr %at.next, %behind
  br i1 %done, label %next, label %inner
next:
  %pair = getelementptr { i64, ptr }, ptr %out, i64 %x
  store i64 %key.next, ptr %pair, align 8
  %pair.item = getelementptr i8, ptr %pair, i64 8
  store ptr %best.next, ptr %pair.item, align 8
  %x.after = add i64 %x, 1
  %x.more = icmp ult i64 %x.after, %end
  br i1 %x.more, label %item, label %exit, !llvm.loop !0
exit:
  ret void
}
declare i64 @llvm.umin.i64(i64, i64)
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: %key{{.*}} = phi <8 x i64> [ undef, %vector.loop ]
