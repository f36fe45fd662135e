; SPEC constant: __schism_is_device 1
; The address of the constant lies in a variable: the compiler's jump threading has copied the read, into two blocks.
@__schism_is_device = external global i8
define i32 @f(i1 %b) {
  %address = alloca ptr
  br i1 %b, label %first, label %second
first:
  store ptr @__schism_is_device, ptr %address
  %a = load ptr, ptr %address
  %v = call i8 @atomic_load(ptr %a, i8 0)
  %d = icmp ne i8 %v, 0
  br i1 %d, label %device, label %host
second:
  store ptr @__schism_is_device, ptr %address
  %c = load ptr, ptr %address
  %w = load atomic i8, ptr %c monotonic, align 1
  %e = icmp ne i8 %w, 0
  br i1 %e, label %device, label %host
device:
  ret i32 1
host:
  %r = call i32 @host_only()
  ret i32 %r
}
declare i8 @atomic_load(ptr, i8)
declare i32 @host_only()
; CHECK: define i32 @f(i1 %b)
; CHECK-NOT: call
; CHECK: ret i32 1
; CHECK-NOT: call
; CHECK: declare
