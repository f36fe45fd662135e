; SPEC kernel: kernel entry 0 1
; An array that may have no bytes: its offset is only added, and an unused one costs its parameter alone.
define void @kernel(ptr addrspace(3) %none, ptr addrspace(3) %unused, i1 %any) {
  br i1 %any, label %some, label %done
some:
  store i8 0, ptr addrspace(3) %none
  br label %done
done:
  ret void
}
; CHECK: define void @kernel(i32 %none, i32 %unused, i1 %any)
; CHECK: getelementptr inbounds i8, ptr addrspace(3) @__schism_shared, i32 %none
