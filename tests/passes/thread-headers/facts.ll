; What a flag was set to is known on the edges back, and what branches before them found out: that a distance is
; not 0, that two numbers differ, that one of two conditions holds. Loops whose state nothing decides stay as they are.
declare i1 @more()
declare i64 @number()
define i64 @flag(i64 %n) {
start:
  br label %loop
loop:
  %skips = phi i1 [ true, %start ], [ false, %next ]
  %sum = phi i64 [ 0, %start ], [ %sum.next, %next ]
  br i1 %skips, label %first, label %next
first:
  %one = call i64 @number()
  br label %next
next:
  %add = phi i64 [ %one, %first ], [ 3, %loop ]
  %sum.next = add i64 %sum, %add
  %goes.on = icmp ult i64 %sum.next, %n
  br i1 %goes.on, label %loop, label %done
done:
  ret i64 %sum.next
}
define i64 @compared(i64 %n, i64 %m) {
start:
  br label %loop
loop:
  %at = phi i64 [ 0, %start ], [ %at.next, %other ], [ %k, %chosen ]
  %full = icmp uge i64 %at, %n
  br i1 %full, label %refill, label %other
refill:
  %k = and i64 %at, 7
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
define i64 @unknown(i64 %n) {
start:
  br label %loop
loop:
  %at = phi i64 [ 0, %start ], [ %at.next, %other ], [ %k, %refill ]
  %full = icmp uge i64 %at, %n
  br i1 %full, label %refill, label %other
refill:
  %k = call i64 @number()
  %goes.on.2 = icmp ne i64 %k, %n
  br i1 %goes.on.2, label %loop, label %done
other:
  %at.next = add i64 %at, 1
  %goes.on = call i1 @more()
  br i1 %goes.on, label %loop, label %done
done:
  ret i64 %at
}
; CHECK: define i64 @flag(i64 %n)
; CHECK: %one = call i64 @number()
; CHECK: br label %next
; CHECK: next:
; CHECK: phi i64 [ %one, %start ], [ 3, %next ]
; CHECK: br i1 %goes.on, label %next, label %done
; CHECK: define i64 @compared
; CHECK: loop:
; CHECK: phi i64 [ 0, %start ], [ %at.next, %other ]
; CHECK: refill:
; CHECK: br i1 %both, label %other, label %done
; CHECK: define i64 @unknown
; CHECK: loop:
; CHECK: phi i64 [ 0, %start ], [ %at.next, %other ], [ %k, %refill ]
