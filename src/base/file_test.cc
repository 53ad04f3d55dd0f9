#include "base/file.h"

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quern {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A folder of its own per test, empty at the start and removed at the end.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quern_file_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Path(std::string_view name) const { return folder_ / name; }
  void Put(std::string_view name, std::string_view text) const { std::ofstream(Path(name), std::ios::binary) << text; }
  int CountEntries() const { return static_cast<int>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

TEST_F(FileTest, MapsTheBytesOfAFile) {
  Put("a", "mapped bytes");
  const auto file = MappedFile::Open(Path("a"));
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "mapped bytes");
  // The mapping outlives the name.
  fs::remove(Path("a"));
  EXPECT_EQ(static_cast<char>((*file)->bytes()[0]), 'm');
}

TEST_F(FileTest, RefusesToMapWhatIsNotAFileWithBytes) {
  Put("empty", "");
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(Path("missing")).error().code, Code::kNotFound);
  EXPECT_EQ(MappedFile::Open(Path("empty")).error().code, Code::kCorrupt);
  EXPECT_EQ(MappedFile::Open(folder_).error().code, Code::kInvalidArgument);
  // Opening a pipe must fail and not wait for a writer.
  EXPECT_EQ(MappedFile::Open(Path("pipe")).error().code, Code::kInvalidArgument);
  EXPECT_THAT(MappedFile::Open(Path("missing")).error().message, HasSubstr(Path("missing").string()));
}

TEST_F(FileTest, ReadsUpToTheLimit) {
  Put("ten", "0123456789");
  EXPECT_EQ(*ReadFile(Path("ten")), "0123456789");
  EXPECT_EQ(*ReadFile(Path("ten"), 10), "0123456789");
  const Result<std::string> refused = ReadFile(Path("ten"), 9);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("9"));
  EXPECT_EQ(ReadFile(Path("missing")).error().code, Code::kNotFound);
  EXPECT_EQ(ReadFile(folder_).error().code, Code::kInvalidArgument);
  Put("empty", "");
  EXPECT_EQ(*ReadFile(Path("empty")), "");
}

// Files of /proc say that they have 0 bytes; the limit holds for them too.
TEST_F(FileTest, ReadsFilesWithoutASize) {
  const Result<std::string> status = ReadFile("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_THAT(*status, HasSubstr("VmSize"));
  EXPECT_EQ(ReadFile("/proc/self/status", 20).error().code, Code::kResourceExhausted);
}

TEST_F(FileTest, CommitPublishesTheWholeFile) {
  std::string expected;
  {
    auto file = AtomicFile::Create(Path("a"), AtomicFile::IfExists::kReplace, 0640);
    ASSERT_TRUE(file);
    // Parts below, at and above the size of the write buffer.
    for (const size_t size :
         {size_t{3}, (size_t{1} << 20) - 1, size_t{1}, size_t{1} << 20, (size_t{5} << 20) + 7, size_t{2}}) {
      const std::string part(size, static_cast<char>('a' + expected.size() % 26));
      ASSERT_TRUE(file->Write(part));
      expected += part;
    }
    EXPECT_EQ(file->size_bytes(), expected.size());
    EXPECT_FALSE(fs::exists(Path("a"))) << "nothing is visible before the commit";
    ASSERT_TRUE(file->Commit());
  }
  EXPECT_EQ(*ReadFile(Path("a")), expected);
  EXPECT_EQ(CountEntries(), 1) << "no temporary file is left";
  EXPECT_EQ(fs::status(Path("a")).permissions(), fs::perms(0640));
}

TEST_F(FileTest, WithoutCommitNothingChanges) {
  Put("a", "old");
  {
    auto file = AtomicFile::Create(Path("a"), AtomicFile::IfExists::kReplace);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write(std::string(3 << 20, 'n')));
    AtomicFile moved = std::move(*file);  // the owner of the temporary file is the new object
    ASSERT_TRUE(moved.Write("more"));
    EXPECT_EQ(CountEntries(), 2);
  }
  EXPECT_EQ(CountEntries(), 1);
  EXPECT_EQ(*ReadFile(Path("a")), "old");
}

TEST_F(FileTest, KeepsAnExistingFileWhenAsked) {
  Put("a", "old");
  const auto refused = AtomicFile::Create(Path("a"), AtomicFile::IfExists::kFail);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("exists already"));

  // The file appears between Create and Commit: it is not overwritten either.
  auto late = AtomicFile::Create(Path("b"), AtomicFile::IfExists::kFail);
  ASSERT_TRUE(late && late->Write("new"));
  Put("b", "first");
  const Status published = late->Commit();
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, Code::kInvalidArgument);
  EXPECT_THAT(published.error().message, HasSubstr("exists already"));
  EXPECT_EQ(*ReadFile(Path("b")), "first");
  EXPECT_EQ(CountEntries(), 2);

  auto fresh = AtomicFile::Create(Path("c"), AtomicFile::IfExists::kFail);
  ASSERT_TRUE(fresh && fresh->Write("new") && fresh->Commit());
  EXPECT_EQ(*ReadFile(Path("c")), "new");
  EXPECT_EQ(CountEntries(), 3);
}

TEST_F(FileTest, ReplacesAndRefusesFolders) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "one"));
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "two"));
  EXPECT_EQ(*ReadFile(Path("a")), "two");
  EXPECT_EQ(WriteFileAtomically(folder_, "x").error().code, Code::kInvalidArgument);
  EXPECT_EQ(WriteFileAtomically(Path("missing/a"), "x").error().code, Code::kNotFound);
  EXPECT_EQ(CountEntries(), 1);
}

TEST_F(FileTest, ASecondCommitIsAnError) {
  auto file = AtomicFile::Create(Path("a"), AtomicFile::IfExists::kReplace);
  ASSERT_TRUE(file && file->Write("x") && file->Commit());
  EXPECT_EQ(file->Commit().error().code, Code::kFailedPrecondition);
  EXPECT_EQ(*ReadFile(Path("a")), "x");
}

// Runs in a child: the limit on file sizes stands for the full disk, and cannot be raised again.
// Returns 0, or the number of the expectation that failed.
int WriteBeyondTheLimit(const fs::path& path, const fs::path& folder) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {2 << 20, 2 << 20};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  auto file = AtomicFile::Create(path, AtomicFile::IfExists::kReplace);
  if (!file) return 2;
  Status status;
  for (int i = 0; i < 8 && status; ++i) status = file->Write(std::string(700'000, 'x'));
  if (status) return 3;
  if (status.error().code != Code::kResourceExhausted) return 4;
  if (status.error().message.find(path.string()) == std::string::npos) return 5;
  if (std::distance(fs::directory_iterator(folder), {}) != 1) return 6;  // the temporary file is gone at once
  // Going on after the failure must not publish a file with a hole.
  if (file->Commit()) return 7;
  return 0;
}

TEST_F(FileTest, AFullDiskKeepsTheOldFile) {
  Put("a", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(WriteBeyondTheLimit(Path("a"), folder_));
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 0);
  EXPECT_EQ(*ReadFile(Path("a")), "old");
  EXPECT_EQ(CountEntries(), 1);
}

}  // namespace
}  // namespace quern
