; Nests that stay as they are: work-items would meet elsewhere, unrolling was asked for, a loop would have two entries, or
; what is in memory decides when the state changes.
declare i64 @meet() convergent
declare i64 @number()
declare i1 @more()
define i64 @convergent(i64 %n) {
start:
  br label %loop
loop:
  %skips = phi i1 [ true, %start ], [ false, %next ]
  %sum = phi i64 [ 0, %start ], [ %sum.next, %next ]
  br i1 %skips, label %first, label %next
first:
  br label %next
next:
  %add = phi i64 [ 7, %first ], [ 3, %loop ]
  %met = call i64 @meet()
  %sum.next = add i64 %sum, %met
  %goes.on = icmp ult i64 %sum.next, %n
  br i1 %goes.on, label %loop, label %done
done:
  ret i64 %add
}
define i64 @unrolled(i64 %n) {
start:
  br label %loop
loop:
  %skips = phi i1 [ true, %start ], [ false, %next ]
  %sum = phi i64 [ 0, %start ], [ %sum.next, %next ]
  br i1 %skips, label %first, label %next
first:
  br label %next
next:
  %add = phi i64 [ 7, %first ], [ 3, %loop ]
  %sum.next = add i64 %sum, %add
  %goes.on = icmp ult i64 %sum.next, %n
  br i1 %goes.on, label %loop, label %done, !llvm.loop !0
done:
  ret i64 %sum.next
}
define i64 @two_entries(i64 %n, i1 %begin) {
start:
  br label %loop
loop:
  %odd = phi i1 [ %begin, %start ], [ false, %at.odd ], [ true, %at.even ]
  %sum = phi i64 [ 0, %start ], [ %sum.odd, %at.odd ], [ %sum.even, %at.even ]
  br i1 %odd, label %at.odd, label %at.even
at.odd:
  %one = call i64 @number()
  %sum.odd = add i64 %sum, %one
  %goes.on.odd = icmp ult i64 %sum.odd, %n
  br i1 %goes.on.odd, label %loop, label %done
at.even:
  %sum.even = mul i64 %sum, 3
  %goes.on.even = icmp ult i64 %sum.even, %n
  br i1 %goes.on.even, label %loop, label %done
done:
  ret i64 %n
}
define i64 @loaded(i64 %n, i64 %m, ptr %from) {
start:
  br label %loop
loop:
  %at = phi i64 [ 0, %start ], [ %at.next, %other ], [ %k, %chosen ]
  %full = icmp uge i64 %at, %n
  br i1 %full, label %refill, label %other
refill:
  %k = load i64, ptr %from
  %is.below = icmp ult i64 %k, %n
  %is.m = icmp ne i64 %k, %m
  %both = and i1 %is.below, %is.m
  br i1 %both, label %chosen, label %done
chosen:
  br label %loop
other:
  %at.next = add i64 %at, 1
  %goes.on = call i1 @more()
  br i1 %goes.on, label %loop, label %done
done:
  %result = phi i64 [ %at, %other ], [ %k, %refill ]
  ret i64 %result
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 4}
; CHECK: define i64 @convergent
; CHECK: phi i1 [ true, %start ], [ false, %next ]
; CHECK: define i64 @unrolled
; CHECK: phi i1 [ true, %start ], [ false, %next ]
; CHECK: define i64 @two_entries
; CHECK: phi i1 [ %begin, %start ], [ false, %at.odd ], [ true, %at.even ]
; CHECK: define i64 @loaded
; CHECK: phi i64 [ 0, %start ], [ %at.next, %other ], [ %k, %chosen ]
