; SPEC kernel: first entry 0 1
; SPEC kernel: second entry 0 1
; SPEC kernel: plain entry 0 1
; Two kernels share a function with an array and have one of their own each, which may overlap; what is added begins behind both
; where the call is shared. A kernel that asks nothing has no groups.
@A = internal constant i8 0
@B = internal constant i8 0
@C = internal constant i8 0
define void @first() {
  %a = call ptr @__schism_local_static(ptr @A, i64 100, i64 4)
  call void @shared()
  ret void
}
define void @second() {
  %b = call ptr @__schism_local_static(ptr @B, i64 300, i64 4)
  call void @shared()
  ret void
}
define void @plain() {
  ret void
}
define internal void @shared() {
  %c = call ptr @__schism_local_static(ptr @C, i64 64, i64 16)
  %d = call ptr @__schism_local_dynamic()
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
declare ptr @__schism_local_dynamic()
; CHECK: define void @first()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 64
; CHECK: define void @second()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 64
; CHECK: define internal void @shared()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 0
; CHECK: getelementptr inbounds i8, ptr %memory1, i64 384
; CHECK-NOT: __schism_local_dynamic
; CHECK: ; kernel first: groups with 384 bytes at multiples of 128
; CHECK-NEXT: ; kernel second: groups with 384 bytes at multiples of 128
; CHECK-NEXT: ; kernel plain:
