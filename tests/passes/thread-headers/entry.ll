; Loops of which only the first iteration is decided are left to `loop-rotate`: an inner one that is entered from inside
; of an outer one, too.
declare void @work(i64, i64)
define void @kernel(i64 %n) {
start:
  br label %outer
outer:
  %i = phi i64 [ 0, %start ], [ %i.next, %outer.end ]
  %more = icmp ult i64 %i, 6
  br i1 %more, label %body, label %done
body:
  br label %inner
inner:
  %k = phi i64 [ 0, %body ], [ %k.next, %inner.body ]
  %inner.more = icmp ult i64 %k, 6
  br i1 %inner.more, label %inner.body, label %outer.end
inner.body:
  call void @work(i64 %i, i64 %k)
  %k.next = add i64 %k, 1
  br label %inner
outer.end:
  %i.next = add i64 %i, 1
  br label %outer
done:
  ret void
}
; CHECK: outer:
; CHECK: phi i64 [ 0, %start ], [ %i.next, %outer.end ]
; CHECK: inner:
; CHECK: phi i64 [ 0, %body ], [ %k.next, %inner.body ]
