; SPEC kernel: kernel entry 0 1
; Sizes that no device has do not overflow.
@A = internal constant i8 0
@B = internal constant i8 0
define void @kernel() {
  %a = call ptr @__schism_local_static(ptr @A, i64 4294967290, i64 4)
  %b = call ptr @__schism_local_static(ptr @B, i64 -1, i64 1)
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
; CHECK: the local arrays of kernel `kernel` are 18446744073709551615 bytes
