; SPEC constant: __schism_is_device 0
; The host's value; an atomic load is a read like any other.
@__schism_is_device = global i8 0
define i32 @f() {
  %v = load atomic i8, ptr @__schism_is_device monotonic, align 1
  %d = icmp ne i8 %v, 0
  %r = select i1 %d, i32 1, i32 2
  ret i32 %r
}
; CHECK: define i32 @f()
; CHECK-NEXT: ret i32 2
