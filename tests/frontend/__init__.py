import pytest

pytest.register_assert_rewrite("tests.frontend.contract")  # so that its asserts show their values
