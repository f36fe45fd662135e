; Two panics as one, where a block continues behind the call: control never comes there.
declare void @__schism_panic_site.2(ptr, ptr, i64, i64) noreturn
define i64 @f(i1 %c, i32 %s) {
start:
  switch i32 %s, label %next [ i32 0, label %bad
                               i32 1, label %bad ]
next:
  br i1 %c, label %bad, label %out
bad:
  %a = phi i64 [ 0, %start ], [ 0, %start ], [ 1, %next ]
  call void @__schism_panic_site.2(ptr null, ptr null, i64 %a, i64 7)
  br label %out
out:
  %q = phi i64 [ 5, %next ], [ %a, %bad ]
  ret i64 %q
}
; CHECK: out:
; CHECK-NEXT: phi i64 [ 5, %next ]
; CHECK: panic:
; CHECK: call void @__schism_panic_site.2
; CHECK-NEXT: unreachable
