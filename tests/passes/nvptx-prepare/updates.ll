; Updates whose previous value nobody uses give none: in global memory, if PTX has the operation and no fence acquires.
define i32 @updates(ptr addrspace(1) %p, ptr addrspace(3) %local, i32 %x, i64 %y, float %f) {
  %a = atomicrmw umin ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  %b = atomicrmw max ptr addrspace(1) %p, i64 %y syncscope("device") monotonic, align 8
  %used = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  %c = atomicrmw add ptr addrspace(3) %local, i32 %x syncscope("block") monotonic, align 4
  %d = atomicrmw fadd ptr addrspace(1) %p, float %f syncscope("device") monotonic, align 4
  %e = atomicrmw xchg ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  fence syncscope("device") release
  %released = atomicrmw or ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  ret i32 %used
}
; CHECK-LABEL: @updates
; CHECK-NEXT: call void asm sideeffect "red.global.min.u32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT: call void asm sideeffect "red.global.max.s64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %p, i64 %y)
; CHECK-NEXT: %used = atomicrmw add
; CHECK-NEXT: %c = atomicrmw add
; CHECK-NEXT: call void asm sideeffect "red.global.add.f32 [$0], $1;", "l,f,~{memory}"(ptr addrspace(1) %p, float %f)
; CHECK-NEXT: %e = atomicrmw xchg
; CHECK-NEXT: fence syncscope("device") release
; CHECK-NEXT: call void asm sideeffect "red.global.or.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT: ret i32 %used

; Behind the fence of a panic comes nothing.
define void @panics(ptr addrspace(1) %p, i32 %x, i1 %bad) {
  %unused = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") monotonic, align 4
  br i1 %bad, label %panic, label %done
panic:
  fence syncscope("block") acq_rel
  unreachable
done:
  ret void
}
; CHECK-LABEL: @panics
; CHECK-NEXT: call void asm sideeffect "red.global.add.u32 [$0], $1;"
