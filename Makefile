# Shortcuts for developers; every one calls the script that CI and the README call.
.PHONY: demo test test-real generate kernels-check format bench fuzz asan tsan clean

demo:
	./scripts/demo
test:
	./scripts/test
test-real:
	./scripts/test-real
generate:
	./scripts/generate
kernels-check:
	./scripts/kernels-check
format:
	./scripts/format
bench:
	./scripts/bench
fuzz:
	./scripts/fuzz 600
asan:
	./scripts/sanitize asan
tsan:
	./scripts/sanitize tsan
clean:
	rm -rf build
