; Two steps of an address become one; a factor is extended where it is multiplied.
define void @steps(ptr %p, i32 %width.32, i32 %x.32, i32 %y.32, i1 %go) {
  %x = zext nneg i32 %x.32 to i64
  %y = zext nneg i32 %y.32 to i64
  br i1 %go, label %store, label %done
store:
  %width = zext nneg i32 %width.32 to i64
  %row = mul nuw nsw i64 %width, %y
  %row.p = getelementptr float, ptr %p, i64 %row
  %at.p = getelementptr float, ptr %row.p, i64 %x
  store float 1.0, ptr %at.p
  br label %done
done:
  ret void
}

; CHECK: store:
; CHECK-NEXT: %width = zext nneg i32 %width.32 to i64
; CHECK-NEXT: %1 = freeze i32 %y.32
; CHECK-NEXT: %2 = zext i32 %1 to i64
; CHECK-NEXT: %row = mul nuw nsw i64 %width, %2
; CHECK-NEXT: %3 = add i64 %row, %x
; CHECK-NEXT: %4 = getelementptr float, ptr %p, i64 %3
; CHECK-NEXT: store float 1.000000e+00, ptr %4
