// A tree in a client's file that is open only while it is used.
#include "tests/nic_mlx5/trees.h"

namespace rdmaqos::mlx5 {
namespace {

using namespace test;

// A file that is taken from its owner while it is used, unless the owner has closed it.
class FileOnLoan final : public ClientFile {
public:
    explicit FileOnLoan(int fd) : ClientFile(UniqueFd(), nullptr), owners_(fd) {}

    bool is_closed = false;

protected:
    Result<void> open() override
    {
        if (is_closed) {
            return fail(ErrorCode::BadQueuePair, "its owner has closed it");
        }
        if (uses_++ == 0) {
            set_fd(UniqueFd(dup(owners_)));
        }
        return {};
    }
    void used() override
    {
        if (--uses_ == 0) {
            close_fd();
        }
    }

private:
    const int owners_;
    int uses_ = 0;
};

class LentFiles : public DividedTrees {
protected:
    void SetUp() override
    {
        lent_ = std::make_shared<FileOnLoan>(owner_.context().cmd_fd);
        queue_pair_ = owner_.make();
        queue_pair_.file = lent_;
        const ClientFile::Use use(*lent_);
        ASSERT_TRUE(use.opened().has_value());
        place(queue_pair_, leaf_);
        place(other_client_.make(), leaf_);
    }
    static long has(const char* what) { return std::ranges::count(elements(), what); }

    Client owner_;
    Client other_client_;
    std::shared_ptr<FileOnLoan> lent_;
    QueuePairRef queue_pair_;
};

TEST_F(LentFiles, AreOpenedForWhatIsDoneToTheirTree)
{
    ASSERT_LT(lent_->fd(), 0);
    ASSERT_TRUE(tree_->modify(*rpc_, {30, std::nullopt}).has_value());
    EXPECT_EQ(has("rate 20000 share 30"), 2);
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{30, Bandwidth::from_mbps(40000)}));
    drift(element_above(queue_pair_), 99, 5);
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{99, Bandwidth::from_mbps(5)})) << "it is looked into";
    EXPECT_LT(lent_->fd(), 0) << "and closed again";
}

// What it has in its owner's file is gone or goes; nobody else's must be moved or changed for it.
TEST_F(LentFiles, ThatTheirOwnerHasClosedArePassedOver)
{
    lent_->is_closed = true;
    EXPECT_TRUE(tree_->modify(*rpc_, {30, std::nullopt}).has_value());
    EXPECT_EQ(has("rate 20000 share 30"), 1);
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{30, Bandwidth::from_mbps(40000)}));
    EXPECT_EQ(tree_->query(*leaf_)->attributes, (ElementAttributes{7, std::nullopt}));
    EXPECT_EQ(tree_->destroy(*leaf_).error().code, ErrorCode::Busy) << "until it is let go of";
    owner_.close();
    queue_pair_.file.reset();
    lent_.reset();
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{30, Bandwidth::from_mbps(40000)}));
    EXPECT_EQ(has("rate 40000 share 30"), 1) << "the other has the whole cap";
    other_client_.close();
    EXPECT_TRUE(destroy_all().has_value());
}

}    // namespace
}    // namespace rdmaqos::mlx5
