; Attributes of the host's code generator go, those that mean something everywhere stay.
define void @f() noinline optnone uwtable "probe-stack"="inline-asm" "target-cpu"="x86-64" "target-features"="+sse2" {
  call void @g() noinline
  ret void
}
declare void @g() cold nounwind "target-cpu"="x86-64"
; CHECK: define void @f()
; CHECK-NEXT: call void @g()
; CHECK-NOT: noinline
; CHECK-NOT: optnone
; CHECK-NOT: uwtable
; CHECK-NOT: probe-stack
; CHECK-NOT: target-cpu
; CHECK-NOT: target-features
; CHECK: attributes {{.*}} cold
